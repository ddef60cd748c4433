-- Snapshots that are older than a unique index: to them a value may be that of several rows.
z: create table keyed (id int primary key, k int, v int);
z: create table asking (k int, n int);
z: insert into keyed values (1, 10, 0), (2, 10, 0), (3, 20, 0), (4, 40, 0);
z: insert into asking values (10, 1), (20, 2), (30, 3);
z: create function ids_of(int) returns text language plpgsql as 'declare r record; t text = ''''; begin for r in select id from keyed where k = $1 order by id desc loop t = t || r.id || '' ''; end loop; return t; end';
z: create function strict_id_of(int) returns int language plpgsql as 'declare i int; begin select id into strict i from keyed where k = $1; return i; end';
z: create function text_ids_of(int) returns text language plpgsql as 'declare t text; begin execute ''select string_agg(id::text, '''' '''') from (select id from keyed where k = $1 order by id desc) one'' into t using $1; return t; end';
a: prepare by_key as select id from keyed where k = $1 order by id desc;
a: execute by_key(10);
a: begin isolation level repeatable read;
a: select count(*) from asking;
z: update keyed set k = 30 where id = 2;
z: create unique index keyed_k on keyed (k);

-- One table, joins of every kind, subqueries.
a: execute by_key(10);
a: select id from keyed where k = 10 order by id desc;
a: select id from keyed where k = 10 order by id limit 1 offset 1;
a: select count(*), sum(id) from keyed where k = 10;
a: select distinct k from keyed where k = 10;
a: select n, id from asking join keyed on keyed.k = asking.k order by n, id;
a: select n, id from asking left join keyed on keyed.k = asking.k order by n, id;
a: select n, id from asking full join keyed on keyed.k = asking.k order by n, id;
a: select one.id, other.id from keyed one join keyed other on one.k = other.k where one.k = 10 order by 1, 2;
a: select n, (select count(*) from keyed where keyed.k = asking.k) from asking order by n;
a: select n from asking where exists (select from keyed where keyed.k = asking.k and id = 2) order by n;
a: select n, l.id from asking, lateral (select id from keyed where keyed.k = asking.k order by id desc) l order by n, id;
a: savepoint one;
a: select (select id from keyed where k = 10);
a: rollback to one;

-- Routines, and what they run.
a: select ids_of(10);
a: select n, ids_of(k) from asking order by n;
a: savepoint two;
a: select strict_id_of(10);
a: rollback to two;
a: select text_ids_of(10);

-- Others look later, and see one row.
z: begin;
z: select ids_of(10), strict_id_of(10);
z: select n, id from asking join keyed on keyed.k = asking.k order by n, id;
z: commit;

-- What is written is the newest: of the key, too.
a: insert into keyed values (5, 10, 0) on conflict (k) do nothing;
a: insert into keyed values (5, 20, 0) on conflict (k) do update set v = 1;
a: update keyed set v = 2 where k = 20;
a: savepoint three;
a: insert into keyed values (5, 20, 0);
a: rollback to three;
a: update keyed set v = 3 where k = 10;
a: rollback to three;
a: select id from keyed where k = 10 for update;
a: rollback to three;
a: select * from keyed order by id;
a: commit;
a: execute by_key(10);
a: select ids_of(10), strict_id_of(10);

z: drop table keyed, asking;
z: drop function ids_of, strict_id_of, text_ids_of;
