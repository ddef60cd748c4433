-- What a function says of the session, in every part of a statement.
set work_mem = '64MB';
select current_setting('work_mem') union all select 'x';
select 'x' union select current_setting('work_mem') order by 1;
create table said (what text);
insert into said select current_setting('work_mem') from generate_series(1, 2);
insert into said with x as (select current_setting('work_mem') as what) select what || '!' from x;
insert into said select current_setting('work_mem') union all select 'y' returning what;
with added as (insert into said select 'with ' || current_setting('work_mem') returning what) select * from added;
select * from said;
select * from (select current_setting('work_mem') as what union select 'z') as t order by 1;
select (select current_setting('work_mem')), exists (select 1 where current_setting('work_mem') <> '');
select array(select current_setting('work_mem') union all select 'a');
with recursive r (n, what) as (select 1, current_setting('work_mem') union all select n + 1, what || n from r where n < 3) select * from r;
create table kept as select current_setting('work_mem') as what union all select 'k';
table kept;
update said set what = (select current_setting('work_mem') union all select 'q' limit 1) where what = 'y' returning what;
select count(*) from said where what in (select current_setting('work_mem') union select 'nothing');
drop table said, kept;
