package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// The command gives the expected results for all test vectors of the specification of schedules.
func TestSchedulePreviewVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "jobs", "schedule", "testdata", "vectors.json"))
	require.NoError(t, err)
	var vectors []struct {
		ID, Kind, Spec, Zone, Start, After string
		Due                                []string
		Exhausted                          bool
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			args := []string{"schedule", "preview", "--kind", v.Kind, "--spec", "-", "-o", "json"}
			for flag, value := range map[string]string{"--start": v.Start, "--after": v.After, "--zone": v.Zone} {
				if value != "" {
					args = append(args, flag, value)
				}
			}
			var stdout, stderr bytes.Buffer
			code := cli.Run(t.Context(), args, strings.NewReader(v.Spec), &stdout, &stderr)
			require.Equal(t, exit.CodeOK, code, stdout.String()+stderr.String())
			var got struct {
				Due       []string `json:"due"`
				Exhausted bool     `json:"exhausted"`
			}
			require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
			require.Equal(t, v.Due, got.Due)
			require.Equal(t, v.Exhausted, got.Exhausted)
		})
	}
}

func TestSchedulePreviewListsAllErrors(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), []string{"schedule", "preview", "--kind", "azure-scheduler", "--spec", "-", "-o", "json"},
		strings.NewReader(`{"frequency": "Dya", "interval": 0, "count": 0}`), &stdout, &stderr)
	require.Equal(t, exit.CodeUsage, code)
	var got struct {
		Errors []struct {
			Path    string
			Value   any
			Message string
		}
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	require.Len(t, got.Errors, 3)
	require.Contains(t, got.Errors[0].Message, "Day")
	require.Empty(t, stderr.String())
}

// An end in the past is refused where the specification says so (D-A7), and reported in any case,
// because an empty list explains nothing.
func TestSchedulePreviewReportsPastEnd(t *testing.T) {
	t.Parallel()
	preview := func(kind, spec string, more ...string) (code int, out, err string) {
		var stdout, stderr bytes.Buffer
		code = cli.Run(t.Context(), append([]string{"schedule", "preview", "--kind", kind, "--spec", "-"}, more...),
			strings.NewReader(spec), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	daily := `{"frequency": "Day", "interval": 1, "endTime": "2020-01-01T00:00:00Z"}`
	code, _, err := preview("azure-scheduler", daily)
	require.Equal(t, exit.CodeUsage, code)
	require.Contains(t, err, "D-A7")

	code, out, err := preview("azure-scheduler", daily, "--start", "2019-12-31T00:00:00Z", "-o", "json")
	require.Equal(t, exit.CodeOK, code, err)
	require.JSONEq(t, `{"due": ["2019-12-31T00:00:00Z", "2020-01-01T00:00:00Z"], "exhausted": true,
		"description": "At 00:00 every day, UTC; from Tue 31 Dec 2019 00:00; until Wed 1 Jan 2020 00:00"}`, out)

	code, out, err = preview("azure-scheduler", daily, "--start", "2019-12-31T00:00:00Z", "--after",
		"2021-01-01T00:00:00Z", "-o", "json")
	require.Equal(t, exit.CodeOK, code, err)
	require.JSONEq(t, `{"due": [], "exhausted": true, "warnings": ["nothing is due after 2021-01-01T00:00:00Z: the end is 2020-01-01T00:00:00Z"],
		"description": "At 00:00 every day, UTC; from Tue 31 Dec 2019 00:00; until Wed 1 Jan 2020 00:00"}`, out)

	code, out, err = preview("cron5", `{"cron": "0 8 * * *", "endTime": "2020-01-01T00:00:00Z"}`)
	require.Equal(t, exit.CodeOK, code)
	require.Equal(t, "At 08:00 every day, UTC; until Wed 1 Jan 2020 00:00; never again.\n", out)
	require.Regexp(t, `^warning: nothing is due from 20\S+ on: the end is 2020-01-01T00:00:00Z\n$`, err)

	code, _, err = preview("quartz", "0 0 12 1 * ? 2020")
	require.Equal(t, exit.CodeOK, code)
	require.Regexp(t, `^warning: nothing is due from 20\S+ on\n$`, err)
}
