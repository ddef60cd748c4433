-- A session that holds a lock gets it again at once, even if others wait for it meanwhile (PostgreSQL's isolation test multixact-no-deadlock).
0: drop table if exists justthis;
0: create table justthis (value int);
0: insert into justthis values (1);
a: begin;
b: begin;
c: begin;
a: select * from justthis for share;
b: select * from justthis for share;
a: savepoint foo;
c: select * from justthis for update;
a: select * from justthis for share;
b: select * from justthis for share;
a: commit;
b: commit;
c: commit;

-- The same row by row, and weaker locks than those that are held.
0: drop table justthis;
0: create table justthis (value int primary key, other int);
0: insert into justthis values (1, 0), (2, 0);
a: begin;
b: begin;
a: select value from justthis where value = 1 for share;
b: select value from justthis where value = 1 for share;
c: begin;
c: select value from justthis where value = 1 for update;
a: select 1 from justthis where value = 1 for key share;
b: select value from justthis where value = 1 for share;
a: commit;
b: update justthis set other = 1 where value = 1;
b: commit;
c: commit;

-- Two that change what both have read: the second one is the victim, and the first goes on.
a: begin;
b: begin;
a: select value from justthis where value = 1 for share;
b: select value from justthis where value = 1 for share;
a: update justthis set other = 2 where value = 1;
b: update justthis set other = 3 where value = 1;
b: rollback;
a: commit;
0: select * from justthis order by value;
0: drop table justthis;
