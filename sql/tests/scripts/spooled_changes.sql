-- Changes that need all rows before the first of them may be changed.
create table stock (id int primary key, kind text, amount int);
insert into stock select n, 'k' || n % 3, n from generate_series(1, 9) n;
update stock set id = id + 100, kind = kind || current_setting('application_name') where id > 6 returning id, amount;
insert into stock select id + 1, kind, amount from stock where id < 4 on conflict (id) do update set amount = stock.amount + 100 * excluded.amount returning id, amount;
insert into stock (id, amount) select amount % 5, sum(amount)::int from stock group by amount % 5 order by 1 on conflict (id) do update set amount = excluded.amount, kind = 'grouped';
insert into stock select id, kind, amount from stock on conflict do nothing;
insert into stock select id, kind, 0 from stock on conflict (id) do update set amount = excluded.amount;
insert into stock select id % 2 + 1, kind, amount from stock order by id on conflict (id) do update set amount = 0;
select id, kind, amount from stock order by id;
update stock set id = -id where kind = 'grouped' returning id;
select count(*), sum(id), min(kind) from stock;
prepare moved(int, text) as update stock set id = id + $1, kind = $2 where amount > 100 returning id, kind;
execute moved(1000, 'far');
select distinct kind from stock order by kind limit 2 offset 1;
drop table stock;
