-- errors in what an index computes point at no place
create table u (id int primary key, email text, a int, b int);
create index on u (lower(email)) where x > 1;
create index on u (email) where lower(email);
create index on u (email) where exists (select 1);
create index on u (max(a));
create index on u (generate_series(1, a));
create index on u ((select 1));
create unique index on u (a) nulls not distinct where b = 1;
create index on u (lower(email));
-- the conditions that find an index
create index on u (b) where a is not null;
explain select * from u where lower(email) = 'x';
explain select * from u where a = 3 and b = 4;
explain select * from u where a is not null and b > 4;
explain select * from u where b = 4;
explain update u set b = 5 where lower(email) = 'x';
explain verbose insert into u values (1, 'X', 2, 3);
explain verbose update u set b = 5 where id = 1;
