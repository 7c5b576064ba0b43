// Package query has the command that asks many databases a question.
package query

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/databases"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// NewCommand returns `jobagent query`.
func NewCommand(a *connect.App) *cobra.Command {
	q := &query{app: a}
	cmd := command.Rows(&cobra.Command{
		Use: "query [SQL]", Short: "Ask many databases a question, and print the rows as they come", Args: cobra.MaximumNArgs(1),
		Long: `Ask the databases of a target group, or of servers that are named here, a question in T-SQL. Rows are printed as they
come, with the names of server and database first; memory stays flat whatever comes back. Result sets whose columns
differ are not mixed: table and csv print one part for each, the first at once and the others at the end, and JSON and
YAML number them. Messages and errors come at the end, on standard error, the same ones of several databases together.

Nothing is changed: the text runs in a transaction that is rolled back, and the login prefers a replica that may be read
(ApplicationIntent=ReadOnly; not with --primary). A text with a statement that a transaction cannot undo, such as ALTER
DATABASE or a COMMIT, is refused before anything is sent. A COMMIT in a procedure or in dynamic T-SQL is seen only
afterwards: the database fails, and says so. With --write the text runs as it is, after a question with the number of
databases; a database that fails keeps what it did before.

The credentials are those of the configuration file and of the flags, as for target-group resolve. With --servers no
control database is needed. The login that asks may be one that can read a control database; with --write, control
databases are refused as for the scripts of jobs, unless targets.allow_control_database is true.

GO separates batches, which run one after the other in one session. -o json prints an array, jsonl a value on a line for
each row; --jq prints what its filter makes of each row. Exit codes:

  0    all databases have answered
  7    a database failed, or could not be reached
  130  Ctrl-C: the queries were canceled on the servers`,
		Example: `  jobagent query --target-group tenants "SELECT name, compatibility_level FROM sys.databases WHERE name = DB_NAME()"
  jobagent query --servers sql1,sql2 -d 'app*' --target-user dba "SELECT COUNT(*) AS orders FROM dbo.Orders" -o csv
  jobagent query --target-group tenants --file question.sql --group-by status --sum amount --limit 10
  jobagent query --target-group tenants "SELECT TOP (1) * FROM dbo.Log ORDER BY id DESC" -o jsonl --timeout 30s`,
		RunE: q.run,
	})
	flags := cmd.Flags()
	q.choice.AddFlags(flags)
	flags.StringVar(&q.file, "file", "", "read the question from this `FILE`; - is standard input")
	flags.IntVar(&q.parallel, "parallel", question.DefaultParallel, "how many databases are asked at once")
	command.AddDuration(flags, &q.timeout, "timeout", 0, "how long one database may take, its login included; 0: as long as it needs")
	flags.Int64Var(&q.maxRows, "max-rows", 0, "most rows of one database; 0: all")
	flags.Int64Var(&q.maxTotal, "max-rows-total", 0, "most rows of all databases together; 0: all")
	flags.BoolVar(&q.write, "write", false, "run the text as it is, without a transaction that is rolled back; it asks before")
	flags.BoolVar(&q.primary, "primary", false, "do not prefer a replica that may be read")
	flags.StringSliceVar(&q.by, "group-by", nil, "print totals for the values of these `COLUMNS`, which may be server_name and database_name, in place of rows")
	flags.StringSliceVar(&q.sum, "sum", nil, "add up these `COLUMNS` of all databases in place of printing rows")
	flags.IntVar(&q.top, "limit", 0, "print only so many totals, the largest first, or with --by so many rows; 0: all totals")
	flags.StringVar(&q.column, "by", "", "print only the rows with the largest values of this `COLUMN`, as many as --limit says")
	a.Target.Add(cmd)
	command.AddYes(cmd)
	a.PrintsWith("--group-by", []output.AnswerTotal{}, cmd)
	return cmd
}

// query is the state of one command.
type query struct {
	app *connect.App

	choice            databases.Choice
	file              string
	parallel          int
	timeout           time.Duration
	maxRows, maxTotal int64
	write, primary    bool
	by, sum           []string
	top               int
	column            string
}

// run implements the command.
func (q *query) run(cmd *cobra.Command, args []string) error {
	if err := q.check(); err != nil {
		return err
	}
	text, err := command.SQL(args, q.file, q.app.Stdin)
	if err != nil {
		return err
	}
	batches, err := q.judge(text)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	servers, list, done, err := q.choice.Find(ctx, q.app, q.write)
	if err != nil {
		return err
	}
	defer done()
	if len(list) == 0 {
		return exit.With(exit.CodeNotFound, errors.New("the chosen servers and groups have no database to ask"))
	}
	if q.write {
		if err := command.Confirm(cmd, func() (string, int, error) {
			// Scripts give --yes, however few the databases are.
			return "This runs the text on " + wording.Count(len(list), "database") + ", and nothing is rolled back", max(len(list), command.Many+1), nil
		}); err != nil {
			return err
		}
	}
	asked := question.Question{
		Batches: batches, MaxRows: q.maxRows, MaxTotal: q.maxTotal,
		Options: question.Options{
			Parallel: q.parallel, Timeout: q.timeout,
			Asking: mssql.Asking{ReadOnly: !q.write, Primary: q.primary, Admit: q.write, Description: "query"},
		},
	}
	return q.ask(ctx, asked, servers, list)
}

// check checks the flags.
func (q *query) check() error {
	if err := q.choice.Check(); err != nil {
		return err
	}
	switch {
	case q.parallel < 1 || q.parallel > databases.MaxParallel:
		return exit.Usagef("--parallel %d: want 1 to %d", q.parallel, databases.MaxParallel)
	case q.timeout < 0 || q.maxRows < 0 || q.maxTotal < 0 || q.top < 0:
		return exit.Usagef("--timeout, --max-rows, --max-rows-total and --limit: want 0 or more")
	case q.totals() && q.column != "":
		return exit.Usagef("--by is for rows: with --group-by and --sum, the largest first sum or the most rows count")
	case !q.totals() && (q.top > 0) != (q.column != ""):
		return exit.Usagef("--limit and --by belong together, unless --group-by or --sum is given; --max-rows-total limits rows")
	case q.top > maxTop:
		return exit.Usagef("--limit %d: want at most %d", q.top, maxTop)
	}
	return nil
}

const (
	// memory is how much memory printing rows may take before the collector works harder.
	memory = 128 << 20
	// maxTop bounds the memory for rows that are kept.
	maxTop = 100_000
)

// totals reports whether totals are printed in place of rows.
func (q *query) totals() bool { return len(q.by) > 0 || len(q.sum) > 0 }

// judge splits the text, and refuses what cannot be rolled back.
func (q *query) judge(text string) ([]mssql.Batch, error) {
	batches, err := mssql.SplitBatches(text)
	if err != nil {
		return nil, exit.Usage(err)
	}
	if len(batches) == 0 {
		return nil, exit.Usagef("the question is empty")
	}
	if q.write {
		return batches, nil
	}
	warnings, err := mssql.CheckUndoable(batches)
	if err != nil {
		return nil, exit.Usagef("nothing was sent, because this cannot be rolled back: %w. With --write, the text runs as it is", err)
	}
	return batches, q.app.Warn(warnings)
}

// ask asks, prints the rows or totals, and reports what did not succeed.
func (q *query) ask(ctx context.Context, asked question.Question, servers *mssql.Servers, list []targets.Target) error {
	said := &messages{}
	stop := databases.Progress(q.app, &asked.Options, len(list))
	defer stop()
	var summary question.Summary
	var err error
	switch p := &q.app.Printer; {
	case q.totals():
		totals := &question.Totals{By: q.by, Sum: q.sum, Said: said.add}
		if summary, err = asked.Ask(ctx, servers, list, totals); err == nil {
			err = output.Totals(p, q.by, q.sum, totals.Groups(q.top))
		}
	case q.top > 0:
		largest := &question.Largest{Rows: q.top, Column: q.column, Said: said.add}
		if summary, err = asked.Ask(ctx, servers, list, largest); err == nil {
			answers := output.NewAnswers(p)
			err = largest.PassOn(answers)
			err = errors.Join(err, answers.Close())
		}
	default:
		// Rows are printed and forgotten: the collector need not let garbage grow beyond this.
		if os.Getenv("GOMEMLIMIT") == "" {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory))
		}
		answers := output.NewAnswers(p)
		answers.Said = said.add
		summary, err = asked.Ask(ctx, servers, list, answers)
		if closing := answers.Close(); err == nil || ctx.Err() != nil && closing != nil {
			err = closing
		}
	}
	stop()
	said.print(q.app.Stderr)
	return q.report(ctx, summary, len(list), err)
}

// report prints the errors, and returns the error that ends the command.
func (q *query) report(ctx context.Context, s question.Summary, asked int, err error) error {
	if ctx.Err() != nil {
		failed := slices.DeleteFunc(slices.Clone(s.Failures), func(f question.Failure) bool { return errors.Is(f.Err, context.Cause(ctx)) })
		databases.PrintFailures(q.app.Stderr, failed)
		return exit.With(exit.CodeInterrupted, fmt.Errorf("interrupted: %d of %s have answered", asked-len(s.Failures), wording.Count(asked, "database")))
	}
	if err != nil {
		return err
	}
	databases.PrintFailures(q.app.Stderr, s.Failures)
	if n := len(s.Cut); n > 0 {
		fmt.Fprintf(q.app.Stderr, "%s had more than %s: --max-rows\n", wording.Count(n, "database"), wording.Count(int(q.maxRows), "row"))
	}
	if s.Full {
		fmt.Fprintf(q.app.Stderr, "There were more than %s in all: --max-rows-total\n", wording.Count(int(q.maxTotal), "row"))
	}
	if q.app.Text() {
		fmt.Fprintf(q.app.Stderr, "%s, %s\n", wording.Count(asked, "database"), wording.Count(int(s.Rows), "row"))
	}
	if len(s.Failures) > 0 {
		return exit.With(exit.CodeRunFailed, fmt.Errorf("%d of %s failed", len(s.Failures), wording.Count(asked, "database")))
	}
	return nil
}
