-- A row that is skipped in the end, but that its transaction has changed or locked on the way, stays locked.
0: drop table if exists jobs;
0: create table jobs (id int primary key, tries int not null);
0: insert into jobs values (1, 0), (2, 0), (3, 0), (4, 0);
0: create or replace function try(job int) returns boolean language plpgsql as $$ begin update jobs set tries = tries + 1 where id = job; return false; end $$;

-- What the condition has changed.
a: begin;
a: select id from jobs where try(id) for update skip locked;
b: update jobs set tries = tries + 100 where id = 1;
c: select id from jobs where id > 2 order by id for update skip locked;
a: rollback;
0: select * from jobs order by id;

-- The same where the answer is sorted.
a: begin;
a: select id from jobs where try(id) order by tries, id limit 1 for update skip locked;
b: update jobs set tries = tries + 100 where id = 2;
a: rollback;
0: select * from jobs order by id;

0: drop function try(int);
0: drop table jobs;
