package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Generated scripts often have long chains of UNION ALL, VALUES and IN, which exceed SQLite's
// limits.
func TestLongStatements(t *testing.T) {
	conn := open(t)
	const n = 1500
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprint(i)
	}
	selects := "SELECT " + strings.Join(parts, " AS x UNION ALL SELECT ") + " AS x"
	for name, query := range map[string]string{
		"UnionAll":    "SELECT COUNT(*), SUM(x) FROM (" + selects + ") t",
		"UnionSorted": "SELECT COUNT(*), SUM(x) FROM (SELECT TOP 2000 x FROM (" + selects + ") u ORDER BY x DESC) t",
		"Except":      "SELECT COUNT(*), SUM(x) FROM (" + selects + " EXCEPT SELECT -1) t",
		"Values":      "SELECT COUNT(*), SUM(x) FROM (VALUES (" + strings.Join(parts[:1000], "), (") + "), (1499)) t(x)",
		"In":          "SELECT COUNT(*), SUM(value) FROM GENERATE_SERIES(-5, 2000) WHERE value IN (" + strings.Join(parts, ", ") + ")",
		"Or":          "SELECT COUNT(*), SUM(value) FROM GENERATE_SERIES(-5, 2000) WHERE value = " + strings.Join(parts[:400], " OR value = "),
		"Concat":      "SELECT COUNT(*), LEN('" + strings.Join(parts[:400], "' + '") + "')",
	} {
		t.Run(name, func(t *testing.T) {
			var count, sum int
			require.NoError(t, conn.QueryRowContext(t.Context(), query).Scan(&count, &sum))
			switch name {
			case "Values":
				require.Equal(t, []int{1001, 499500 + 1499}, []int{count, sum})
			case "Or":
				require.Equal(t, []int{400, 79800}, []int{count, sum})
			case "Concat":
				require.Equal(t, []int{1, 10 + 180 + 900}, []int{count, sum})
			default:
				require.Equal(t, []int{n, n * (n - 1) / 2}, []int{count, sum})
			}
		})
	}
}
