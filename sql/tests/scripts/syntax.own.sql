select (1;
select 'abc;
vacuum (;
select case when 1 end;
select case 1;
create table t (a int,);
