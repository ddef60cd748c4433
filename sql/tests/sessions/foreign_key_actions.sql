-- Actions of foreign keys beside other sessions.
0: drop table if exists child;
0: drop table if exists parent;
0: create table parent (id int primary key, v int);
0: create table child (id int primary key, parent int references parent on delete cascade on update cascade, v int);
0: create index on child (parent);
0: insert into parent select g, 0 from generate_series(1, 9) g;
0: insert into child select g, g, 0 from generate_series(1, 9) g;

-- The parent's DELETE waits for a session that is changing a child.
a: begin;
a: update child set v = 1 where id = 1;
b: delete from parent where id = 1;
a: commit;
0: select * from child where id = 1;

-- One that is deleted meanwhile is gone.
a: begin;
a: delete from child where id = 2;
b: begin;
b: delete from parent where id = 2;
a: commit;
b: commit;
0: select count(*) from parent where id = 2;

-- One that refers to another parent meanwhile stays.
a: begin;
a: update child set parent = 9 where id = 3;
b: delete from parent where id = 3;
a: commit;
0: select * from child where id = 3;

-- A child that comes waits for the parent, and then finds none.
a: begin;
a: delete from parent where id = 4;
b: insert into child values (20, 4, 0);
a: commit;

0: drop table child;
0: drop table parent;
