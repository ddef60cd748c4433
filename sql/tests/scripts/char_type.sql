-- one byte, octal escapes
SELECT 'a'::"char", 'abc'::"char", ''::"char";
SELECT '\101'::"char", '\377'::"char", '\400'::"char";
SELECT 'a'::"char"::text, '\377'::"char"::text;
SELECT '\000'::"char"::text, '\08'::"char"::text;
SELECT 'a'::text::"char", '\377'::text::"char";
SELECT ''::text::"char", 'é'::"char";
SELECT '\377'::"char" = '\377', '\101'::"char" = 'A';
SELECT length('\377'::"char"::text);
