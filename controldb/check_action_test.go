package controldb_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
)

// TestCase126 compares jobs_internal.check_action with the vectors of package action: one error
// lists every fault that T-SQL can see, and none that the package does not see. Nothing is stored.
func TestCase126(t *testing.T) {
	var vectors []struct {
		Name, Type, Text string
		Faults           []struct {
			Path string
			TSQL bool
		}
	}
	text, err := os.ReadFile("../jobs/action/testdata/faults.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	repeated := regexp.MustCompile(`<<(.)\*(\d+)>>`)
	fault := regexp.MustCompile(`(?:faults?\.|\.) (\$[^:]*): `)
	each(t, func(t *testing.T, c *control) {
		for _, v := range vectors {
			t.Run(v.Name, func(t *testing.T) {
				definition := repeated.ReplaceAllStringFunc(v.Text, func(m string) string {
					parts := repeated.FindStringSubmatch(m)
					n, err := strconv.Atoi(parts[2])
					require.NoError(t, err)
					return strings.Repeat(parts[1], n)
				})
				_, err := c.db.ExecContext(t.Context(), `EXECUTE jobs_internal.check_action @command_type = @p1, @command = @p2`, v.Type, definition)
				var found []string
				if err != nil {
					for _, m := range fault.FindAllStringSubmatch(err.Error(), -1) {
						found = append(found, m[1])
					}
					require.NotEmpty(t, found, "%v", err)
				}
				var want, all []string
				for _, f := range v.Faults {
					all = append(all, f.Path)
					if f.TSQL {
						want = append(want, f.Path)
					}
				}
				assert.Subset(t, found, want, "%v", err)
				assert.Subset(t, all, found, "%v", err)
				slices.Sort(found)
				assert.Equal(t, len(slices.Compact(slices.Clone(found))), len(found), "each fault once: %v", err)
			})
		}

		_, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "j"})
		require.NoError(t, err)
		_, err = catalog.On(c.Store).AddJobStep(t.Context(), model.StepSpec{JobName: "j", CommandType: ptr("Http"), Command: new(`{
	"method": "PO ST", "url": "ftp://h.example/", "headers": [{"name": "Accept", "value": "x"}, {"name": "Host", "value": "y"}]}`)})
		require.Error(t, err)
		require.Equal(t, dberror.KindInvalid, dberror.KindOf(err))
		require.False(t, errors.Is(err, dberror.ErrJobNotFound))
		require.ErrorContains(t, err, "Invalid @command of a step of type Http, 3 faults. ")
		for _, path := range []string{"$.method: ", "$.url: ", "$.headers[1].name: "} {
			require.ErrorContains(t, err, path)
		}
		require.Zero(t, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.step_commands`))
	})
}
