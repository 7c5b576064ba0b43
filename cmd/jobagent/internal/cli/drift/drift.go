// Package drift has the commands that compare the schemas of databases.
package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/databases"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
	"github.com/jobagent/jobagent/targets/schema"
)

// NewCommand returns `jobagent drift`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("drift", "Find databases whose schema differs",
		a.Prints(output.DriftReport{}, newCheckCommand(a)), a.Prints(output.ExportedSchema{}, newExportCommand(a)),
		command.StandsFor("jobs.drift_history", newHistoryCommand(a)), newBaselineCommand(a))
	cmd.Long = `Find databases whose schema differs from that of the others, of one database, or of a file.

Compared are schemas, tables, columns, keys, constraints, indexes, views, procedures, functions, triggers, types, sequences and
synonyms; roles and permissions on request. Nothing is changed. The login needs VIEW DEFINITION on each database.

A job with a step of type Drift (jobagent step add --drift) does the same on a schedule, and keeps the history.`
	return cmd
}

// reading are the flags of both commands.
type reading struct {
	app      *connect.App
	choice   databases.Choice
	parallel int
	timeout  time.Duration
}

func (r *reading) addFlags(cmd *cobra.Command, flags *pflag.FlagSet) {
	r.choice.AddFlags(flags)
	command.AddDuration(flags, &r.timeout, "timeout", 0, "how long one database may take, its login included; 0: as long as it needs")
	r.app.Target.Add(cmd)
}

// options returns how databases are asked.
func (r *reading) options() question.Options {
	return question.Options{Parallel: r.parallel, Timeout: r.timeout, Asking: mssql.Asking{ReadOnly: true, Description: "drift"}}
}

// check is the state of `jobagent drift check`.
type check struct {
	reading
	against    string
	selection  drift.Selection
	statements bool
}

func newCheckCommand(a *connect.App) *cobra.Command {
	c := &check{reading: reading{app: a}}
	cmd := &cobra.Command{
		Use: "check", Short: "Compare the schemas of databases", Args: cobra.NoArgs,
		Long: `Compare the schemas of the databases of a target group, or of servers that are named here, and say what differs.

--against says with what they are compared: majority, which elects each object by the number of databases that have it; a file
that jobagent drift export has written, whose name ends in .json; or one database as SERVER/DATABASE.

Names that the system gave to constraints make no difference, because they contain a number. --ignore leaves out more:

  constraint-names  the names of all constraints
  collations        of columns
  fill-factors      and PAD_INDEX, of indexes
  column-order      the order of columns
  trust             that a constraint was not checked against the rows that were there

--include compares more: permissions (with roles and their members), system-names. --exclude 'audit' leaves out a schema,
--exclude 'dbo.tmp*' objects by name, with all that belongs to them.

--tsql prints a script: the differences as comments, and a statement for each one that a statement certainly undoes. That is what
is missing and loses no data, and modules; a statement may need what another one makes, or fail on rows.

Exit codes:

  0    all databases are alike
  7    a database differs, or could not be read`,
		Example: `  jobagent drift check --target-group tenants
  jobagent drift check --servers sql1,sql2 -d 'app*' --against sql1/app_golden --ignore collations
  jobagent drift check --target-group tenants --against schema.json --tsql > repair.sql`,
		RunE: c.run,
	}
	flags := cmd.Flags()
	c.addFlags(cmd, flags)
	flags.StringVar(&c.against, "against", output.DriftMajority, "compare with this `REFERENCE`: majority, a file that ends in .json, or SERVER/DATABASE")
	command.AddSelection(flags, &c.selection)
	flags.BoolVar(&c.statements, "tsql", false, "print a script with the statements that are certain")
	flags.IntVar(&c.parallel, "parallel", question.DefaultParallel, "how many databases are read at once")
	return cmd
}

// compared returns what is compared.
func (c *check) compared() (o drift.Options, err error) {
	o, err = c.selection.Options(targets.MatchName)
	if err != nil {
		return o, exit.Usagef("--%w", err)
	}
	if c.parallel < 1 || c.parallel > databases.MaxParallel {
		return o, exit.Usagef("--parallel %d: want 1 to %d", c.parallel, databases.MaxParallel)
	}
	return o, nil
}

// reference is what --against names.
type reference struct {
	file     *drift.File
	database *targets.Target
}

// read reads --against.
func (c *check) read(o drift.Options) (r reference, err error) {
	server, database, isDatabase := strings.Cut(c.against, "/")
	switch {
	case c.against == output.DriftMajority:
		return r, nil
	case strings.HasSuffix(c.against, ".json"):
		text, err := command.ReadText(c.against, c.app.Stdin)
		if err != nil {
			return r, err
		}
		if r.file, err = drift.ReadFile(strings.NewReader(text)); err != nil {
			return r, exit.Usagef("--against %s: %w", c.against, err)
		}
		if o.Permissions && !r.file.Permissions {
			return r, exit.Usagef("--against %s: the file has no permissions; write it with jobagent drift export --permissions", c.against)
		}
		return r, nil
	case !isDatabase || server == "" || database == "":
		return r, exit.Usagef("--against %q: want majority, a file that ends in .json, or SERVER/DATABASE", c.against)
	}
	if err := targets.CheckServer(server); err != nil {
		return r, exit.Usagef("--against %q: %w", c.against, err)
	}
	t := targets.NewTarget(server, database, "")
	c.choice.Also = []string{server}
	r.database = &t
	return r, nil
}

// run implements the command.
func (c *check) run(cmd *cobra.Command, _ []string) error {
	if err := c.choice.Check(); err != nil {
		return err
	}
	o, err := c.compared()
	if err != nil {
		return err
	}
	from, err := c.read(o)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	servers, list, done, err := c.choice.Find(ctx, c.app, false)
	if err != nil {
		return err
	}
	defer done()
	if len(list) == 0 {
		return exit.With(exit.CodeNotFound, errors.New("the chosen servers and groups have no database to compare"))
	}
	fleet := drift.NewFleet(o, drift.DefaultBudget)
	what := schema.Options{Permissions: o.Permissions}
	var with drift.Reference
	switch {
	case from.file != nil:
		with = fleet.OfFile(from.file)
	case from.database != nil:
		if with, err = c.readOne(ctx, servers, *from.database, what, fleet); err != nil {
			return err
		}
	}
	how := c.options()
	stop := databases.Progress(c.app, &how, len(list))
	failed := schema.Fill(ctx, servers, list, how, what, fleet)
	stop()
	if ctx.Err() != nil {
		return exit.With(exit.CodeInterrupted, fmt.Errorf("interrupted: %d of %s were read", len(list)-len(failed), wording.Count(len(list), "database")))
	}
	if c.against == output.DriftMajority && len(failed) < len(list) {
		if with, err = fleet.Majority(); err != nil {
			return err
		}
	}
	found := fleet.Compare(with)
	return c.report(output.NewDriftReport(c.against, with, found, failed), failed, len(list))
}

// readOne reads the database with which the others are compared.
func (c *check) readOne(ctx context.Context, servers *mssql.Servers, t targets.Target, what schema.Options, fleet *drift.Fleet) (drift.Reference, error) {
	entry := fleet.Begin()
	failed := question.Each(ctx, servers, []targets.Target{t}, c.options(), func(ctx context.Context, one *question.One) error {
		return schema.Read(ctx, one.Session, what, entry.Add)
	})
	if len(failed) > 0 {
		return drift.Reference{}, readError(failed[0])
	}
	return fleet.Of(entry), nil
}

// readError returns the error of a database without which nothing can be done.
func readError(f question.Failure) error {
	err := fmt.Errorf("read the schema of %s: %w", f.Target, f.Err)
	switch mssql.Classify(f.Err).Class {
	case targets.ClassAuth, targets.ClassLostConnection, targets.ClassTimeout, targets.ClassTransient:
		return exit.With(exit.CodeConnection, err)
	case targets.ClassConfig:
		return exit.Usage(err)
	}
	return err
}

// report prints the report, and returns the error that ends the command.
func (c *check) report(v output.DriftReport, failed []question.Failure, asked int) error {
	show := output.PrintDrift
	if c.statements {
		show = output.PrintDriftTSQL
	}
	if len(failed) < asked || c.app.Structured() {
		if err := show(&c.app.Printer, v); err != nil {
			return err
		}
	}
	databases.PrintFailures(c.app.Stderr, failed)
	switch differ := v.Databases - v.Alike; {
	case len(failed) > 0 && differ > 0:
		return exit.With(exit.CodeRunFailed, fmt.Errorf("%d of %s differ, and %d could not be read", differ, wording.Count(asked, "database"), len(failed)))
	case len(failed) > 0:
		return exit.With(exit.CodeRunFailed, fmt.Errorf("%d of %s could not be read", len(failed), wording.Count(asked, "database")))
	case differ > 0:
		return exit.With(exit.CodeRunFailed, fmt.Errorf("%d of %s %s", differ, wording.Count(asked, "database"), wording.Plural(differ, "differs", "differ")))
	}
	return nil
}

// export is the state of `jobagent drift export`.
type export struct {
	reading
	permissions bool
}

func newExportCommand(a *connect.App) *cobra.Command {
	e := &export{reading: reading{app: a}}
	cmd := &cobra.Command{
		Use: "export FILE", Short: "Write the schema of a database to a file, for drift check --against", Args: cobra.ExactArgs(1),
		Long: `Write the schema of one database to a JSON file, for jobagent drift check --against FILE. The file has all that was read, so that
each option of drift check can be used with it. Its objects are in a fixed order, so that two files can be compared.`,
		Example: `  jobagent drift export schema.json --servers sql1 -d app_golden`,
		RunE:    e.run,
	}
	flags := cmd.Flags()
	e.addFlags(cmd, flags)
	flags.BoolVar(&e.permissions, "permissions", false, "write roles, their members and permissions, too")
	return cmd
}

// run implements the command.
func (e *export) run(cmd *cobra.Command, args []string) error {
	if err := e.choice.Check(); err != nil {
		return err
	}
	if !strings.HasSuffix(args[0], ".json") {
		return exit.Usagef("FILE %q: want a name that ends in .json, by which --against recognizes a file", args[0])
	}
	ctx := cmd.Context()
	servers, list, done, err := e.choice.Find(ctx, e.app, false)
	if err != nil {
		return err
	}
	defer done()
	if len(list) != 1 {
		return exit.Usagef("want one database, not %d: choose it with --servers and --database", len(list))
	}
	file := &drift.File{Format: drift.Format, Database: list[0].String(), Permissions: e.permissions, Objects: []drift.Object{}}
	failed := question.Each(ctx, servers, list, e.options(), func(ctx context.Context, one *question.One) error {
		return schema.Read(ctx, one.Session, schema.Options{Permissions: e.permissions}, func(o *drift.Object) { file.Objects = append(file.Objects, *o) })
	})
	if len(failed) > 0 {
		return readError(failed[0])
	}
	file.Sort()
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(args[0], append(text, '\n'), 0o644); err != nil {
		return exit.Usagef("write the schema: %w", err)
	}
	fleet := drift.NewFleet(drift.Options{}, 0)
	v := output.ExportedSchema{Database: file.Database, File: args[0], Objects: len(file.Objects), Fingerprint: fleet.OfFile(file).Hash.String()}
	return e.app.Done(v, "%s of %s: %s (%.12s)", wording.Count(v.Objects, "object"), v.Database, v.File, v.Fingerprint)
}
