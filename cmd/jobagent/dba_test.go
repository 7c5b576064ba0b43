package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
)

var (
	// shellBlock is a block of shell commands in a page.
	shellBlock = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	quoted     = regexp.MustCompile("'[^']*'")
)

// The commands on the pages for DBAs exist, with these flags; so do those in running text.
func TestPagesForDBAs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("deploy/dba/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		commands := regexp.MustCompile("`(jobagent [^`]+)`").FindAllStringSubmatch(string(text), -1)
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				commands = append(commands, []string{"", strings.TrimSpace(line)})
			}
		}
		for _, c := range commands {
			words := strings.Fields(quoted.ReplaceAllString(c[1], "text"))
			require.Equal(t, "jobagent", words[0], "%s: %s", page, c[1])
			require.NoError(t, cli.Check(words[1:]), "%s: %s", page, c[1])
		}
	}
}

// The script about the activity in a control database runs. The embedded server has no Extended
// Events, so the other script is only parsed.
func TestScriptsForDBAs(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		_, database := env.Control(t)
		text, err := os.ReadFile("deploy/dba/monitoring.sql")
		require.NoError(t, err)
		rows, err := env.DB(t, database).QueryContext(t.Context(), string(text))
		require.NoError(t, err)
		defer rows.Close()
		sets := 0
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
				continue
			}
			sets++
		}
		require.NoError(t, rows.Err())
		require.Equal(t, strings.Count(string(text), "\nSELECT"), sets)
	})
	text, err := os.ReadFile("deploy/dba/extended_events.sql")
	require.NoError(t, err)
	_, err = mssql.SplitBatches(string(text))
	require.NoError(t, err)
}

// sqlBlock is a block of T-SQL in a page.
var sqlBlock = regexp.MustCompile("(?ms)^```sql\n(.*?)^```")

// The blocks of the page about target databases run: they find the remaining objects, and remove
// those of the agent.
func TestLeftInTargets(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("deploy/dba/TARGETS.md")
	require.NoError(t, err)
	var blocks []string
	for _, b := range sqlBlock.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, b[1])
	}
	require.Len(t, blocks, 5)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		_, database := env.Control(t)
		query := func(database, block string) (first []string) {
			t.Helper()
			rows, err := env.DB(t, database).QueryContext(t.Context(), block)
			require.NoError(t, err, block)
			defer rows.Close()
			columns, err := rows.Columns()
			require.NoError(t, err)
			for rows.Next() {
				row := make([]any, len(columns))
				for i := range row {
					row[i] = new(any)
				}
				require.NoError(t, rows.Scan(row...))
				name := fmt.Sprint(*row[0].(*any), ".", *row[1].(*any))
				first = append(first, name)
			}
			require.NoError(t, rows.Err())
			return first
		}
		control := env.DB(t, database)
		_, err := control.ExecContext(t.Context(), `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'SELECT 1', @target_group_name = N'g', @output_type = N'SqlDatabase',
    @output_server_name = N'srv', @output_database_name = N'results', @output_table_name = N'sizes';
EXEC jobs.sp_set_jobstep_options @job_name = N'j', @step_name = N'JobStep', @at_most_once = 1;`)
		require.NoError(t, err)
		require.Equal(t, []string{"srv.results"}, query(database, blocks[0]))
		require.Empty(t, query(database, blocks[1]), "nothing has run")

		target := env.CreateDatabase(t, "left")
		db := env.DB(t, target)
		require.Empty(t, query(target, blocks[2]))
		_, err = db.ExecContext(t.Context(), mssql.LedgerTable())
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), `CREATE TABLE dbo.sizes (internal_execution_id UNIQUEIDENTIFIER NOT NULL, mb INT NOT NULL); CREATE TABLE dbo.theirs (id INT NOT NULL);`)
		require.NoError(t, err)
		require.Equal(t, []string{"dbo.sizes", "jobagent.executed_scripts"}, query(target, blocks[2]))
		_, err = db.ExecContext(t.Context(), blocks[3])
		require.NoError(t, err)
		require.Equal(t, []string{"dbo.sizes"}, query(target, blocks[2]), "an output table is data")
		var schema sql.NullInt64
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT SCHEMA_ID(N'jobagent')`).Scan(&schema))
		require.False(t, schema.Valid)

		_, err = db.ExecContext(t.Context(), mssql.LedgerTable()+";\nCREATE TABLE jobagent.theirs (id INT NOT NULL);")
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), blocks[3])
		require.Error(t, err, "somebody else has a table in the schema")
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT OBJECT_ID(N'jobagent.theirs')`).Scan(&schema))
		require.True(t, schema.Valid)
		query(target, blocks[4])
	})
}
