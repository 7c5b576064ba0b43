package web_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
)

// The variables of a script have the texts of the calls, whatever is in them: no constant has a
// line break, and no concatenation is longer than one of constants may be.
func TestPageScript(t *testing.T) {
	t.Parallel()
	piece := regexp.MustCompile(`N'((?:[^']|'')*)'|NCHAR\((\d+)\)`)
	for _, text := range []string{
		"SELECT 1;\nGO\nSELECT 2;", "a\\\r\nb", "it's\n\n''", strings.Repeat("x", 5000) + "\n", strings.Repeat("\U0001F600", 3000) + "\t", "\n", "\x01",
	} {
		e := page.Script([]controldb.Call{
			{Procedure: "jobs.sp_a", Args: []controldb.Arg{{Name: "if_match", Value: int64(3)}, {Name: "command", Value: text}, {Name: "n", Value: 5}}},
			{Procedure: "jobs.sp_b", Args: []controldb.Arg{{Name: "command", Value: text}, {Name: "flag", Value: true}}},
		})
		require.Equal(t, page.DoorTSQL, e.Door)
		require.True(t, strings.HasPrefix(e.Text, "SET XACT_ABORT ON;\nBEGIN TRANSACTION;\n") && strings.HasSuffix(e.Text, "\nCOMMIT TRANSACTION;"), e.Text)
		require.Contains(t, e.Text, "\nEXECUTE jobs.sp_a @command = @command1, @n = 5;\n")
		require.Contains(t, e.Text, "\nEXECUTE jobs.sp_b @command = @command2, @flag = 1;\n")
		values := map[string]string{}
		for line := range strings.SplitSeq(e.Text, "\n") {
			name, expression, ok := strings.Cut(strings.TrimPrefix(line, "SET @"), " += ")
			if !ok {
				continue
			}
			var units []uint16
			for _, m := range piece.FindAllStringSubmatch(expression, -1) {
				if n, err := strconv.Atoi(m[2]); err == nil {
					units = append(units, uint16(n))
					continue
				}
				units = append(units, utf16.Encode([]rune(strings.ReplaceAll(m[1], "''", "'")))...)
			}
			require.LessOrEqual(t, len(units), 4000)
			values[name] += string(utf16.Decode(units))
		}
		require.Equal(t, map[string]string{"command1": text, "command2": text}, values)
	}
	require.Equal(t, "EXECUTE jobs.sp_a @x = N'it''s';", page.Script([]controldb.Call{{Procedure: "jobs.sp_a", Args: []controldb.Arg{{Name: "x", Value: "it's"}}}}).Text)
}
