package ddl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// definitionTable returns a table that defines column names.
func definitionTable() *catalog.Table {
	t := &catalog.Table{}
	for _, name := range []string{"a", "b", "Name", "Gender", "Day"} {
		t.Columns = append(t.Columns, &catalog.Column{Column: types.Column{Name: name, Type: types.IntType}})
	}
	return t
}

// TestDefinitionOfExpressions compares the texts of defaults and computed columns with those of SQL
// Server in published scripts (AdventureWorks, WideWorldImporters, migrations of EF Core, the msdb
// tables of SQL Server).
func TestDefinitionOfExpressions(t *testing.T) {
	for source, want := range map[string]string{
		"1":                                "((1))",
		"((1))":                            "((1))",
		"-1":                               "((-1))",
		"- 1":                              "((-1))",
		"+ 1":                              "((1))",
		"-(-1)":                            "((1))",
		"(-CAST('1' AS int))":              "( -CONVERT([int],'1'))",
		"007":                              "((7))",
		"0.00":                             "((0.00))",
		".5":                               "((0.5))",
		"1.5E0":                            "((1.5000000000000000e+000))",
		"1E-12":                            "((9.9999999999999998e-013))",
		"1 + 1":                            "((1)+(1))",
		"'x''y'":                           "('x''y')",
		"N'x'":                             "(N'x')",
		"0x0a":                             "(0x0A)",
		"NULL":                             "(NULL)",
		"GETDATE()":                        "(getdate())",
		"CURRENT_TIMESTAMP":                "(getdate())",
		"SYSTEM_USER":                      "(suser_sname())",
		"NEWSEQUENTIALID()":                "(newsequentialid())",
		"NEXT VALUE FOR dbo.seq1":          "(NEXT VALUE FOR [dbo].[seq1])",
		"CAST(1 AS bit)":                   "(CONVERT([bit],(1)))",
		"CONVERT(char(19), getdate(), 20)": "(CONVERT([char](19),getdate(),(20)))",
		"CAST('1' AS numeric(10, 2))":      "(CONVERT([numeric](10,2),'1'))",
		"TRY_CONVERT(datetime2(7), JSON_VALUE(Name, N'$.x'), 126)": "(TRY_CONVERT([datetime2](7),json_value([Name],N'$.x'),(126)))",
		"TRY_CAST(Name AS float)":                                  "(TRY_CAST([Name] AS [float]))",
		"CAST(a AS integer)":                                       "(CONVERT([int],[a]))",
		"CAST(a AS nvarchar(max))":                                 "(CONVERT([nvarchar](max),[a]))",
		"UPPER(name)":                                              "(upper([Name]))",
		"a * 2":                                                    "([a]*(2))",
		"(a * 2)":                                                  "([a]*(2))",
		"(a + b) * 2":                                              "(([a]+[b])*(2))",
		"a + (b * 2)":                                              "([a]+[b]*(2))",
		"a - (b - 1)":                                              "([a]-([b]-(1)))",
		"(a & ~1) / 2 & 3":                                         "(([a]&~(1))/(2)&(3))",
		"-a":                                                       "( -[a])",
		"t.a + 1":                                                  "([a]+(1))",
		"DATEADD(yy, -18, GETDATE())":                              "(dateadd(year,(-18),getdate()))",
		"YEAR(Day)":                                                "(datepart(year,[Day]))",
		"dbo.f(a, 1)":                                              "([dbo].[f]([a],(1)))",
		"ISNULL(a, 0) + COALESCE(b, 0)":                            "(isnull([a],(0))+coalesce([b],(0)))",
		"CASE WHEN a = 1 THEN 0 ELSE 1 END":                        "(case when [a]=(1) then (0) else (1) end)",
		"CASE a WHEN 0 THEN 'x' WHEN 1 THEN 'y' END":          "(case [a] when (0) then 'x' when (1) then 'y'  end)",
		"CASE WHEN a IS NOT NULL THEN DATEDIFF(dd, a, b) END": "(case when [a] IS NOT NULL then datediff(day,[a],[b])  end)",
		"IIF(a > 0, 1, 0)": "(case when [a]>(0) then (1) else (0) end)",
		"'IOF' + RIGHT(REPLICATE('0', 8) + CAST(a AS varchar), 8)": "('IOF'+right(replicate('0',(8))+CONVERT([varchar],[a]),(8)))",
	} {
		e, err := parser.ParseExpr(source, parser.DefaultOptions)
		require.NoError(t, err, source)
		got := definitionOf(e, definitionTable(), func(*syntax.ObjectName) string { return "[dbo].[seq1]" }, false)
		require.Equal(t, want, got, source)
		again, err := parser.ParseExpr(got, parser.DefaultOptions)
		require.NoError(t, err, got)
		require.Equal(t, want, definitionOf(again, definitionTable(), nil, false), "the definition of the definition")
	}
}

// TestDefinitionOfConditions compares the texts of checks and filters in the same way.
func TestDefinitionOfConditions(t *testing.T) {
	for _, c := range []struct {
		source, want string
		filter       bool
	}{
		{"a > 0", "([a]>(0))", false},
		{"(a > 0) AND (b != 1)", "([a]>(0) AND [b]<>(1))", false},
		{"a IN (1, 2)", "([a]=(2) OR [a]=(1))", false},
		{"a > 0 AND a IN (1, 2)", "([a]>(0) AND ([a]=(2) OR [a]=(1)))", false},
		{"a IS NULL OR Name IN ('AND', 'OR')", "([a] IS NULL OR ([Name]='OR' OR [Name]='AND'))", false},
		{
			"UPPER(Name) IN ('W', 'M', 'U') OR Name IS NULL",
			"(upper([Name])='U' OR upper([Name])='M' OR upper([Name])='W' OR [Name] IS NULL)", false,
		},
		{"a NOT IN (33, 34)", "(NOT ([a]=(34) OR [a]=(33)))", false},
		{
			"Day BETWEEN '1930-01-01' AND DATEADD(YEAR, -18, GETDATE())",
			"([Day]>='1930-01-01' AND [Day]<=dateadd(year,(-18),getdate()))", false,
		},
		{
			"Name NOT LIKE '%[^0-9]%' AND (SUBSTRING(Name, 5, 2) BETWEEN '01' AND '12')",
			"(NOT [Name] like '%[^0-9]%' AND (substring([Name],(5),(2))>='01' AND substring([Name],(5),(2))<='12'))",
			false,
		},
		{"NOT (a = 1 AND b = 1) OR b = 0", "(NOT ([a]=(1) AND [b]=(1)) OR [b]=(0))", false},
		{"(a = 1 OR b = 2) AND a < 5", "(([a]=(1) OR [b]=(2)) AND [a]<(5))", false},
		{"a = 1 OR (a = 2 OR a = 3)", "([a]=(1) OR ([a]=(2) OR [a]=(3)))", false},
		{"MONTH(Day) = 1", "(datepart(month,[Day])=(1))", false},
		{"a + 1 > b", "([a]+(1)>[b])", false},
		{"a IN (1, 2)", "([a] IN ((1), (2)))", true},
		{"a IN (1, 2) AND b <> 2", "(([a] IN ((1), (2))) AND [b]<>(2))", true},
		{"a IN (1)", "([a]=(1))", true},
		{"a IS NULL AND Name = 'x'", "([a] IS NULL AND [Name]='x')", true},
		{"a > 1 and (b = -2)", "([a]>(1) AND [b]=(-2))", true},
	} {
		e, err := parser.ParseExpr("CASE WHEN "+c.source+" THEN 1 END", parser.DefaultOptions)
		require.NoError(t, err, c.source)
		require.Equal(t, c.want, definitionOf(e.(*syntax.CaseExpr).Whens[0].Cond, definitionTable(), nil, c.filter),
			c.source)
	}
}
