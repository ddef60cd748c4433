-- Queries in parentheses where an operand stands.
create table n (a int, b text);
insert into n values (1, 'x'), (2, 'y'), (3, null);
select ((select a from n) order by 1 limit 1);
select ((select 1) union (select 1));
select (((select 1) union select 1) limit 1) + 1;
select (((select 1))) + 1;
select ((select 1) + 1) * 2;
select a from n where a = any (values (1), (3));
select a from n where a = any ((values (1)) union (values (2)))
 order by a;
select a from n where a > all ((select 1) except (select 2));
select a from n where a in ((select 1) union all select 3)
 order by a;
select a from n where a = any (table n2);
select 2 = any ((select array[1, 2]));
select (values (1));
select (values (1), (2) order by 1 desc limit 1);
select (values (1), (2));
select a from n where (a = (values (2)));
select a from n where 2 in (((select a) limit 1), 5);
select a from n where a not in ((select 1), 2);
select 3 in ((select 1) + 2);
select 1 between ((select 0) order by 1) and 3;
select 3 in ((select 1));
select 3 in ((1), (3));
select array_agg((select a) order by a desc) from n;
select array_agg((select a) order by (select -a)) from n;
select coalesce((select null::int), (select 2));
select max((select a)) from n;
select case when ((select true)) then ((select 1) union (select 1)) end;
select exists ((select 1) union (select 2));
select array((select 1) union (select 2) order by 1);
select values (1);
select f((select 1) union select 2);
drop table n;
