-- Which order joins come in, by the sizes of tables and what conditions leave of them.
create table facts (id int primary key, color int, shape int, maker int, note text);
create table colors (id int primary key, name text);
create table shapes (id int, name text);
create table makers (id int primary key, country int, name text);
create table countries (id int primary key, name text);
insert into facts select i, i % 10, i % 7, i % 300, 'n' || i from generate_series(1, 20000) i;
insert into colors select i, 'c' || i from generate_series(0, 9) i;
insert into shapes select i, 's' || i from generate_series(0, 499) i;
insert into makers select i, i % 5, 'm' || i from generate_series(0, 299) i;
insert into countries select i, 'l' || i from generate_series(0, 4) i;
create index facts_by_maker on facts (maker);

-- No relation stands beside one that it has no condition with, wherever FROM has it.
explain select count(*) from shapes s, countries l, facts f, makers m where f.shape = s.id and f.maker = m.id and m.country = l.id;
explain select count(*) from countries l, shapes s, colors c, facts f where f.color = c.id and f.shape = s.id and f.id < l.id;

-- The larger side of a hash join is gone through, the smaller one is kept.
explain select count(*) from shapes s join facts f on f.shape = s.id;
explain select count(*) from facts f join shapes s on f.shape = s.id;

-- What one condition makes small comes first.
explain select f.note from facts f join makers m on f.maker = m.id where m.name = 'm5';
explain select f.note from facts f join makers m on f.maker = m.id join countries l on l.id = m.country where l.id = 3;
explain select f.note from facts f join makers m on f.maker = m.id where f.id = 17;

-- An order that an index has, where few rows are wanted, is worth more.
explain select f.id, m.name from facts f join makers m on f.maker = m.id order by f.id limit 10;
explain select f.id, m.name from makers m join facts f on f.maker = m.id order by f.id limit 10;
explain select f.id, m.name from makers m join facts f on f.maker = m.id where m.id = 3 order by f.id limit 10;

-- Outer joins stay where they are, what is around them moves.
explain select count(*) from shapes s, facts f left join colors c on f.color = c.id where f.shape = s.id and f.id = 5;
explain select count(*) from countries l, makers m left join facts f on f.maker = m.id where m.country = l.id and m.id = 4;

-- LATERAL comes after what it reads.
explain select count(*) from makers m, lateral (select f.id from facts f where f.maker = m.id limit 1) one, countries l where m.country = l.id and l.name = 'l1';

-- More tables than all orders are tried for.
explain select count(*) from facts f, colors c1, colors c2, colors c3, colors c4, colors c5, makers m, countries l, shapes s
    where f.color = c1.id and c1.id = c2.id and c2.id = c3.id and c3.id = c4.id and c4.id = c5.id and f.maker = m.id and m.country = l.id and f.shape = s.id and f.id = 100;

-- The answers.
select count(*), sum(f.id) from shapes s, countries l, facts f, makers m where f.shape = s.id and f.maker = m.id and m.country = l.id;
select f.id, m.name from makers m join facts f on f.maker = m.id order by f.id limit 3;
select f.id, m.name from makers m join facts f on f.maker = m.id where m.id = 3 order by f.id desc limit 3;
select count(*) from facts f, colors c1, colors c2, colors c3, colors c4, colors c5, makers m, countries l, shapes s
    where f.color = c1.id and c1.id = c2.id and c2.id = c3.id and c3.id = c4.id and c4.id = c5.id and f.maker = m.id and m.country = l.id and f.shape = s.id and f.id = 100;

-- In a routine every table counts the same.
create function in_routine() returns bigint language sql as
    $$ select count(*) from shapes s, countries l, facts f, makers m where f.shape = s.id and f.maker = m.id and m.country = l.id $$;
select in_routine();
drop function in_routine();
drop table facts, colors, shapes, makers, countries;
