package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lists whose elements are looked for among each other have limits, and are cheap up to them.
func TestLongListsOfNames(t *testing.T) {
	t.Parallel()
	list := func(n int, separator, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(separator)
			}
			fmt.Fprintf(&b, strings.ReplaceAll(format, "#", "%[1]d"), i)
		}
		return b.String()
	}
	const many = 50_000
	for name, c := range map[string]struct {
		text   string
		number int32
	}{
		"columns and ORDER BY": {"SELECT " + list(many, ", ", "# AS c#") + " ORDER BY " + list(many, ", ", "c#"), 1056},
		"parameters":           {"EXEC sp_executesql N'SELECT 1', N'" + list(many, ", ", "@p# int") + "', " + list(many, ", ", "@p# = #"), 180},
		"expressions":          {"WITH " + list(many, ", ", "c# AS (SELECT # AS a)") + " SELECT a FROM c1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := batchOutput(t, workSession(t, newInstance(t)), c.text)
			if c.number == 0 {
				require.NotContains(t, out, "Msg ")
				return
			}
			require.Contains(t, out, fmt.Sprintf("Msg %d, ", c.number))
		})
	}
}
