package mssql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Text within dynamic T-SQL is refused with its line; numbers are not.
func TestNestedParameters(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"x": "'; CREATE TABLE dbo.pwned0(a INT);--", "n": 5, "o": {"a": 1}}`)
	for script, line := range map[string]int{
		"EXEC(N'PRINT ''$(param.x)''');":                                             1,
		"SELECT 1\nDECLARE @s NVARCHAR(MAX) = N'PRINT ''a$(param.x)'''":              2,
		"EXECUTE /* c */ ( 'DROP TABLE $(param.x)' )":                                1,
		"EXEC(@a + 'DROP TABLE [' + N'$(param.x)' + ']')":                            1,
		"EXEC(\"DROP TABLE $(param.x)\")":                                            1,
		"EXEC sp_executesql N'DROP TABLE $(param.x)'":                                1,
		"EXEC sys.[sp_executesql] @stmt = N'DROP TABLE $(param.x)'":                  1,
		"EXEC master..xp_cmdshell 'dir $(param.x)'":                                  1,
		"SELECT * FROM OPENQUERY(s, 'SELECT $(param.x)')":                            1,
		"SET @s = N'DROP TABLE [$(param.x)]';\nEXEC(@s)":                             1,
		"SET @s = N'a' +\nN'DROP $(payload.o)'; EXEC sp_executesql @s, N'@a INT', 1": 2,
	} {
		_, err := expandOne(script, nil, p)
		var variable *VariableError
		require.ErrorAs(t, err, &variable, script)
		require.Equal(t, line, variable.Line, script)
		require.ErrorContains(t, err, "sp_executesql", script)
		require.NotContains(t, err.Error(), "pwned0")
		found, err := NestedParameters("SELECT 1\nGO\n" + script)
		require.NoError(t, err)
		require.Equal(t, []NestedParameter{{variable.Name, line + 2}}, found, script)
		number := strings.NewReplacer("param.x", "param.n", "payload.o", "param.n").Replace(script)
		_, err = expandOne(number, nil, p)
		require.NoError(t, err, number)
	}
	for _, script := range []string{
		"PRINT N'$(param.x)'", "SELECT N'a $(param.x) b' AS [$(param.x)]", "PRINT 'it''s'' $(param.x)'",
		"EXEC dbo.p N'$(param.x)'", "EXEC(N'PRINT 1'); PRINT N'a $(param.x)'", "INSERT t EXEC dbo.p; PRINT (N'$(param.x)')",
		"EXEC sp_executesql N'SELECT @a', N'@a NVARCHAR(9)', @a = N'$(param.x)'",
		"DECLARE @t sysname = N'$(param.x)'; SET @s = N'DROP TABLE ' + QUOTENAME(@t); EXEC(@s)",
	} {
		_, err := expandOne(script, nil, p)
		require.NoError(t, err, script)
		found, err := NestedParameters(script)
		require.NoError(t, err)
		require.Empty(t, found, script)
	}
	vars := Variables{"job_name": StringValue("it's"), "step_name": StringValue("plain")}
	_, err := expandOne("EXEC(N'PRINT ''$(job_name)''')", vars, nil)
	require.ErrorContains(t, err, "script variable $(job_name) in line 1: its value has quotes")
	_, err = expandOne("EXEC(N'PRINT ''$(step_name)''')", vars, nil)
	require.NoError(t, err)
}

// A carriage return alone ends a comment on some servers. Then other places follow it.
func TestLoneCarriageReturn(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"x": "a'b", "n": 5}`)
	for _, script := range []string{
		"-- it's\rSELECT N'$(param.x)'", "-- c\rSELECT $(param.n)\nSELECT 1", "-- c\r /*\nSELECT N'$(param.x)' -- */",
		"-- '\r\r\nSELECT N'$(param.x)'",
	} {
		_, err := expandOne(script, nil, p)
		require.ErrorContains(t, err, "carriage return without a line feed", script)
	}
	for _, script := range []string{
		"-- it's\r\nSELECT N'$(param.x)'", "-- c\rSELECT 1", "SELECT 1\rPRINT N'$(param.x)'", "-- $(param.x)\r",
	} {
		_, err := expandOne(script, nil, p)
		require.NoError(t, err, script)
	}
}
