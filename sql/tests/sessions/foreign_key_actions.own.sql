-- Where actions and deferred checks of foreign keys differ from PostgreSQL's: a search for a key waits for the
-- session that inserts it.
0: drop table if exists child;
0: drop table if exists parent;
0: create table parent (id int primary key, v int);
0: create table child (id int primary key, parent int references parent on delete cascade on update cascade, v int);
0: create index on child (parent);
0: insert into parent select g, 0 from generate_series(1, 9) g;
0: insert into child select g, g, 0 from generate_series(1, 9) g;

-- A child that comes waits for its parent.
a: begin;
a: update parent set id = 50 where id = 5;
b: insert into child values (21, 50, 0);
a: commit;
0: select * from child where parent = 50 order by id;

-- A deferred check waits, at the end.
0: drop table child;
0: create table child (id int primary key, parent int references parent deferrable initially deferred);
a: begin;
a: insert into child values (1, 100);
b: begin;
b: insert into parent values (100, 0);
a: commit;
b: commit;
a: begin;
a: insert into child values (2, 100);
b: begin;
b: delete from parent where id = 100;
a: commit;
b: commit;
0: select * from child;
0: drop table child;
0: drop table parent;
