-- Sessions that refer to a row and sessions that change its other columns do not wait for each other (PostgreSQL's isolation tests fk-contention,
-- fk-deadlock, fk-deadlock2).
0: drop table if exists bar;
0: drop table if exists foo;
0: create table foo (a int primary key, b text);
0: create table bar (a int not null references foo);
0: insert into foo values (42);

a: begin;
a: insert into bar values (42);
b: begin;
b: update foo set b = 'Hello World';
b: commit;
a: commit;

a: begin;
a: insert into bar values (42);
b: begin;
b: update foo set b = 'Hello Again';
a: commit;
b: commit;

0: drop table bar;
0: drop table foo;
0: create table parent (parent_key int primary key, aux text not null);
0: create table child (child_key int primary key, parent_key int not null references parent);
0: insert into parent values (1, 'foo');

a: begin;
b: begin;
a: insert into child values (1, 1);
b: insert into child values (2, 1);
a: update parent set aux = 'bar' where parent_key = 1;
b: update parent set aux = 'baz' where parent_key = 1;
a: commit;
b: commit;

-- One who has changed the parent does not stop one who refers to it.
a: begin;
a: update parent set aux = 'one' where parent_key = 1;
b: begin;
b: insert into child values (3, 1);
b: commit;
a: rollback;

-- But one who deletes it does.
a: begin;
a: delete from child where parent_key = 1;
a: delete from parent where parent_key = 1;
b: begin;
b: insert into child values (4, 1);
a: rollback;
b: commit;
a: begin;
a: delete from child where parent_key = 1;
a: delete from parent where parent_key = 1;
b: begin;
b: insert into child values (5, 1);
a: commit;
b: rollback;

-- And one who refers to it stops one who deletes it.
0: insert into parent values (2, 'two');
a: begin;
a: insert into child values (6, 2);
b: begin;
b: update parent set aux = 'three' where parent_key = 2;
b: delete from parent where parent_key = 2;
a: rollback;
b: rollback;

0: create table a_parent (i int primary key, x int);
0: create table b_child (i int primary key, x int references a_parent);
0: insert into a_parent values (1, 1);
0: insert into b_child values (1, 1), (2, 1);
a: begin;
b: begin;
a: update a_parent set x = 2 where i = 1;
a: update b_child set x = 1 where i = 2;
b: update b_child set x = 1 where i = 2;
a: update b_child set x = 1 where i = 2;
a: commit;
b: commit;
0: drop table b_child;
0: drop table a_parent;
0: drop table child;
0: drop table parent;
