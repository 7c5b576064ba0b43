package mssql

import (
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

// healthy returns a row of preflight.sql about a database without faults.
func healthy() []driver.Value {
	return []driver.Value{
		"ONLINE", "MULTI_USER", "READ_WRITE", nil, "15.0.4355.3", int64(150), "",
		int64(500), nil, int64(900), nil, int64(0), nil, nil, nil,
	}
}

// TestPreflightJudges: each fault gives one finding, with the level that the option says.
func TestPreflightJudges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options string
		at      int
		value   driver.Value
		want    targets.Finding
	}{
		"offline":        {``, 0, "RESTORING", targets.Finding{Check: "state", Level: "failure", Text: "the database is RESTORING, MULTI_USER"}},
		"single user":    {`{"warn": ["state"]}`, 1, "SINGLE_USER", targets.Finding{Check: "state", Level: "warning", Text: "the database is ONLINE, SINGLE_USER"}},
		"read only":      {``, 2, "READ_ONLY", targets.Finding{Check: "writable", Level: "failure", Text: "the database is READ_ONLY"}},
		"secondary":      {``, 3, int64(0), targets.Finding{Check: "writable", Level: "failure", Text: "the database is not the primary replica"}},
		"version":        {`{"min_version": 16}`, 3, int64(1), targets.Finding{Check: "version", Level: "failure", Text: "the version is 15.0.4355.3, and the script needs 16"}},
		"compatibility":  {`{"min_compatibility": 150}`, 5, int64(140), targets.Finding{Check: "compatibility", Level: "failure", Text: "the compatibility level is 140, and the script needs 150"}},
		"rights":         {`{"rights": ["ALTER"]}`, 6, ", ALTER", targets.Finding{Check: "rights", Level: "failure", Text: "the login lacks ALTER"}},
		"log":            {`{"min_log_mb": 501}`, 3, nil, targets.Finding{Check: "log_space", Level: "failure", Text: "500 MB can be used, and the script needs 501"}},
		"log unread":     {``, 8, "no right", targets.Finding{Check: "log_space", Level: "warning", Text: "it could not be read: no right"}},
		"log in doubt":   {`{"min_log_mb": 1}`, 8, "no right", targets.Finding{Check: "log_space", Level: "failure", Text: "it could not be read: no right"}},
		"data in doubt":  {`{"min_data_mb": 1}`, 9, nil, targets.Finding{Check: "data_space", Level: "failure", Text: "it could not be read"}},
		"blocked":        {``, 11, int64(2), targets.Finding{Check: "blocking", Level: "warning", Text: "2 requests are blocked by others"}},
		"blocked refuse": {`{"refuse": ["blocking"]}`, 11, int64(1), targets.Finding{Check: "blocking", Level: "failure", Text: "1 request is blocked by others"}},
		"old":            {``, 13, int64(601), targets.Finding{Check: "transactions", Level: "warning", Text: "the oldest open transaction began 601 s ago; the limit is 600 s"}},
		"not so old":     {`{"max_transaction_seconds": 700}`, 13, int64(601), targets.Finding{}},
		"healthy":        {`{"min_log_mb": 500, "min_data_mb": 900, "min_version": 15}`, 3, int64(1), targets.Finding{}},
	} {
		p, err := ParsePreflight(c.options)
		require.NoError(t, err, name)
		row := healthy()
		row[c.at] = c.value
		found := p.judge(row)
		require.Len(t, found, len(checks), name)
		bad := targets.Finding{}
		for i, f := range found {
			require.Equal(t, checks[i].name, f.Check)
			if f.Level != targets.LevelOK {
				require.Zero(t, bad, name)
				bad = f
			}
		}
		require.Equal(t, c.want, bad, name)
	}
}

// TestParsePreflight: wrong options are refused.
func TestParsePreflight(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`: "cannot unmarshal", `{"right": []}`: `unknown field "right"`, `{} {}`: "want one JSON object",
		`{"warn": ["disk"]}`: `unknown check "disk"`, `{"min_log_mb": "x"}`: "cannot unmarshal",
	} {
		_, err := ParsePreflight(text)
		require.ErrorContains(t, err, want, text)
	}
}
