-- An operator ends in a sign only if it has one of the rarer characters.
select 3>-5, 3<-5, 3>=-5, 3<=-5, 3<>-5, 3=-5, 3*-5, 3/-5, 3+-5, 3=+5, 3>+5, 3<- -5;
select 1<-1 as a, 2>+-+2, -3>-4, (3)-(-5), 'a'<'b';
select n from (values (-1), (1)) as v(n) where n>-1;
select n from (values (-1), (1)) as v(n) where n<-0 or n=-1;
select array[1,2]&&array[2], '{"a":-1}'::jsonb->'a', '[1,2,3]'::jsonb->-1;
