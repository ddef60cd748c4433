-- A request that is compatible with all holders of a row and with all waiters for it is granted at once.
0: drop table if exists child;
0: drop table if exists parent;
0: create table parent (id int primary key, v int);
0: create table child (id int primary key, parent int references parent);
0: insert into parent values (1, 0), (2, 0);

-- A child comes in beside updates of its parent's other columns, whether they wait or not.
a: begin;
a: update parent set v = 1 where id = 1;
b: update parent set v = 2 where id = 1;
c: insert into child values (1, 1);
c: select 1 from parent where id = 1 for key share nowait;
c: select 1 from parent where id = 1 for key share skip locked;
a: commit;
0: select * from parent order by id;

-- No circle: the waiting update does not wait for a session that waits for the child.
a: begin;
a: update parent set v = 3 where id = 1;
b: begin;
b: update parent set v = 4 where id = 1;
c: begin;
c: update parent set v = 5 where id = 2;
c: insert into child values (2, 1);
a: update parent set v = 6 where id = 2;
c: commit;
a: commit;
b: commit;
0: select * from parent order by id;

0: drop table child;
0: drop table parent;
