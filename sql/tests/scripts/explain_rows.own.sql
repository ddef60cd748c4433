-- What stands below the scan of a query's rows.
create table left_side (id int primary key, n int);
create table right_side (id int primary key, n int);
explain select * from (select n, count(*) from left_side group by n order by n limit 3) l where n > 1;
explain select n from left_side union all select n from right_side union all (values (1), (2)) order by 1;
explain select n from left_side union select n from right_side except all select id from left_side;
explain with w as (select n from left_side where id = 5) select * from w one, w other where one.n = other.n;
explain with recursive w as (select 1 as n union all select w.n + 1 from w join left_side l on l.id = w.n where w.n < 5) select * from w;
explain select * from (left_side a join right_side b using (id)) full join (left_side c join right_side d using (id)) on a.n = c.n;
explain select * from left_side l, lateral (select * from (select r.n from right_side r where r.id = l.n offset 0) inner_rows) x;
explain select * from left_side where id in (select n from (select n from right_side limit 5) limited);
explain insert into left_side select id + 1, n from (select * from right_side order by n limit 2) r;
explain (format json) select * from (select n from left_side limit 3) l;
explain (analyze, summary off) select * from (select n from left_side intersect select n from right_side) l;
drop table left_side;
drop table right_side;
