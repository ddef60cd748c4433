-- Locks of statements that differ from PostgreSQL's; for the others see strengths_of_statements.sql.
0: create table held (id int primary key, v int);
0: create table child (id int primary key, held int references held);
0: insert into held values (1, 10), (2, 20);

-- INSERT ... ON CONFLICT DO UPDATE: FOR UPDATE, as every insert; PostgreSQL takes the row that it finds FOR NO KEY UPDATE.
a: begin;
a: insert into held values (1, 11) on conflict (id) do update set v = excluded.v;
b: select 2 from held where id = 1 for key share nowait;
a: commit;
a: begin;
a: select 1 from held where id = 1 for key share;
b: insert into held values (1, 12) on conflict (id) do update set v = excluded.v;
a: commit;

-- An UPDATE that sets the key to what it is: FOR UPDATE, by what it sets; PostgreSQL looks at the value and takes FOR NO KEY UPDATE.
a: begin;
a: update held set id = id, v = 13 where id = 1;
b: select 2 from held where id = 1 for key share nowait;
a: rollback;

-- A child's check of a parent that is not committed yet: it waits to see; PostgreSQL says 23503 at once.
a: begin;
a: insert into held values (3, 30);
b: insert into child values (1, 3);
a: commit;

-- A statement in no block is serializable when it changes something: its insert waits even for one who only holds the row. In a block
-- that is READ COMMITTED it is told at once that the key is taken.
a: begin;
a: select 1 from held where id = 2 for update;
b: insert into held values (2, 0);
c: begin;
c: insert into held values (2, 0);
c: rollback;
a: rollback;
0: drop table child, held;
