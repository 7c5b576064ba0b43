package call

import (
	"strings"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs"
)

// TestTextsOfSelectsHaveOneType: the statement and the types of its arguments do not depend on the
// lengths of texts, so a query has one plan.
func TestTextsOfSelectsHaveOneType(t *testing.T) {
	const query = "SELECT TOP (@p1) x FROM t WHERE a = @p2 AND b LIKE @p3 AND c = @p11 AND d = @p4;"
	const want = "SELECT TOP (@p1) x FROM t WHERE a = CAST(@p2 AS NVARCHAR(4000)) AND b LIKE CAST(@p3 AS NVARCHAR(4000)) AND c = @p11 AND d = @p4;"
	given := []any{10, "a", jobs.Lifecycle("Failed"), nil}
	for _, name := range []string{"a", "", strings.Repeat("ä", sizedText/2)} {
		given[1] = name
		text, args := oneType(query, given)
		require.Equal(t, want, text)
		require.Equal(t, []any{10, mssqldb.NVarCharMax(name), mssqldb.NVarCharMax("Failed"), nil}, args)
		require.Equal(t, name, given[1], "the caller's arguments are not changed")
	}
	long := strings.Repeat("a", sizedText+1) // would be cut, and then be equal to another text
	text, args := oneType("SELECT @p1;", []any{long})
	require.Equal(t, "SELECT @p1;", text)
	require.Equal(t, []any{mssqldb.NVarCharMax(long)}, args)
}
