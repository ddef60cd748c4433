-- INSERT ... SELECT does not see its own rows, wherever the query reads the table.
create table mine (a int primary key, b int);
insert into mine select g, g / 2 from generate_series(1, 6) g where not exists (select 1 from mine where mine.b = g / 2);
select * from mine order by a;
insert into mine select g, (select count(*) from mine m where m.b > 0) from generate_series(11, 13) g;
insert into mine select x.a + 100, x.n from (select m.a, (select count(*) from mine) as n from mine m) x where x.a > 10;
insert into mine select g, x.n from generate_series(201, 203) g, lateral (select count(*) as n from mine m where m.a < g) x returning a, b;
select * from mine order by a;
drop table mine;
