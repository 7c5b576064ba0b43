package testenv

import (
	"database/sql"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	schema "github.com/jobagent/jobagent/sql"
)

// sliceDefault is the default of the parameter that limits how many rows one call changes (I15).
var sliceDefault = regexp.MustCompile(`(?m)^(    @slice\s+INT = )[0-9]+`)

// SetSlices makes all procedures of a control database work in slices of n rows, so that few rows
// are more than one slice.
func SetSlices(t testing.TB, control *sql.DB, n int) {
	t.Helper()
	objects, err := schema.Objects()
	require.NoError(t, err)
	changed := 0
	for _, o := range objects {
		text := sliceDefault.ReplaceAllString(o.Text, fmt.Sprintf("${1}%d", n))
		if o.Kind != schema.KindProcedure || text == o.Text {
			continue
		}
		_, err := control.ExecContext(t.Context(), text)
		require.NoError(t, err, o.Name)
		changed++
	}
	require.NotZero(t, changed)
}
