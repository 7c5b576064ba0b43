// Package cli is the command line of jobagent: the tree of all commands.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/bench"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/about"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/account"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/action"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/alert"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/apply"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/audit"
	clicontext "github.com/jobagent/jobagent/cmd/jobagent/internal/cli/context"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/db"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/doctor"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/drift"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/execution"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/history"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/imports"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/job"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/key"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/kit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/limit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/query"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/question"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/rollout"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/run"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/schedule"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/script"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/secret"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/serve"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/setting"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/step"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/target"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/targetgroup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/token"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/top"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/demo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/values"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Run executes one command line and returns the exit code. It prints an error on one line of
// stderr.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A pipe of stdout gets values as they are; stderr has messages for people, wherever it goes.
	stdout, stderr = terminal.Guard(stdout, false), terminal.Guard(stderr, true)
	defer flush(stdout, stderr)
	app := connect.New(stdin, stdout, stderr)
	root := newRootCommand(app)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		values.CompleteFlags(root, app)
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	addCobraCommands(root) // completion writes to the output that root has at this point
	// The audit log joins the entries of one invocation.
	ctx = caller.With(ctx, caller.Caller{Door: caller.DoorCLI, CorrelationID: uuid.New(), TraceParent: os.Getenv("TRACEPARENT")})
	cmd, err := root.ExecuteContextC(command.WithProduction(ctx, app.Production))
	if err != nil && dberror.KindOf(err) != dberror.KindNone {
		err = command.InWords(cmd, err)
	}
	if exit.Code(err) == exit.CodeNotFound {
		err = values.Suggest(cmd, cmd.Flags().Args(), app, err)
	}
	return exit.Report(stderr, err)
}

// flush writes what the guards of the streams hold back.
func flush(streams ...io.Writer) {
	for _, stream := range streams {
		if guard, ok := stream.(*terminal.Writer); ok {
			_ = guard.Flush() // a stream that is gone has reported it to the command
		}
	}
}

// Check reports what is wrong with a command line, without running it: unknown commands and flags,
// and arguments that a command does not take. It is for texts that name commands.
func Check(args []string) error {
	cmd, rest, err := Commands().Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	// serve is the only command that does something of its own and has commands below it.
	if !cmd.Runnable() || cmd.HasSubCommands() && cmd.Name() != "serve" {
		return fmt.Errorf("%s is a group of commands", cmd.CommandPath())
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	return cmp.Or(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
}

// Commands returns the tree of all commands, for documents about them. They read nothing and print
// nothing.
func Commands() *cobra.Command {
	return newRootCommand(connect.New(strings.NewReader(""), io.Discard, io.Discard))
}

// newRootCommand returns the tree of all commands.
func newRootCommand(a *connect.App) *cobra.Command {
	a.Format, a.Color, a.Live = output.FormatTable, terminal.ColorAuto, terminal.ProgressAuto
	root := &cobra.Command{
		Use:   "jobagent",
		Short: "Run T-SQL across many SQL Server databases, on schedule",
		Long: `jobagent runs T-SQL across many SQL Server databases: on schedule, in parallel, with retries, time
limits, cancellation and a history. It has the procedures and views of Azure SQL Elastic Jobs.

Try it without a server:   jobagent demo
A server for development:  jobagent dev --data ./devdata
With your own SQL Server:  jobagent db install && jobagent run`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	version := root.Flags().Bool("version", false, "print the version, as jobagent version does")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return about.PrintVersion(&a.Printer)
		}
		return printStart(cmd)
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.DSN, "dsn", "", "control database: `env:NAME|file:PATH` of a connection string, or the string itself, which other users can read in the list of processes (default: "+config.EnvDSN+"; see jobagent context)")
	flags.StringVar(&a.ContextName, "context", "", "`name` of the context with the control database; see jobagent context (default: "+contexts.EnvContext+", then the current context)")
	flags.StringVar(&a.ConfigPath, "config", "", "configuration file (default: "+config.EnvConfig+")")
	flags.VarP(&a.Format, "output", "o", "output `format`: table, wide, json or yaml; of lists also csv and name; of query also csv and jsonl; jobagent help output describes them")
	flags.Var(&a.Query, "jq", "print what this jq `filter` makes of the JSON, such as '.[].job_name'")
	flags.Var(&a.Color, "color", "colours: always, never, or auto: on a terminal, unless NO_COLOR is set")
	flags.Var(&a.Live, "progress", "how commands that wait show the progress on stderr: live (drawn again), plain (a line now and then), none, or auto: live on a terminal, else plain")
	flags.StringVar(&a.LogLevel, "log-level", "info", "minimum level of log entries on stderr: debug, info, warn or error")
	root.SetFlagErrorFunc(values.FlagError)
	refused := output.DefinitionErrors{}
	root.AddCommand(
		a.PrintsWith("--rollout", output.RolloutDetail{}, a.Prints(output.DemoRun{}, demo.NewCommand(a))), a.Prints(output.Ready{}, dev.NewCommand(a)), run.NewCommand(a),
		a.PrintsWith("--check", output.FrontCheck{}, serve.NewCommand(a)), db.NewCommand(a), doctor.NewCommand(a), agent.NewCommand(a), account.NewCommand(a),
		clicontext.NewCommand(a), job.NewCommand(a), step.NewCommand(a), action.NewCommand(a), targetgroup.NewCommand(a), target.NewCommand(a), execution.NewCommand(a), rollout.NewCommand(a), limit.NewCommand(a),
		a.Prints([]output.AnswerRow{}, query.NewCommand(a)), question.NewCommand(a), setting.NewCommand(a), drift.NewCommand(a), key.NewCommand(a), kit.NewCommand(a), secret.NewCommand(a), token.NewCommand(a), history.NewCommand(a), audit.NewCommand(a), alert.NewCommand(a),
		a.Prints(output.Script{}, script.NewCommand(a)),
		a.PrintsWith("(refused definition)", refused, schedule.NewCommand(a)), a.PrintsWith("(refused definition)", refused, schedule.NewCalendarCommand(a)),
		a.Prints(output.Import{}, imports.NewCommand(a)), metrics.NewCommand(&a.Printer), top.NewCommand(a), a.Prints(output.Bench{}, bench.NewCommand(a)),
		a.Prints(output.Version{}, about.NewVersionCommand(&a.Printer)), about.NewLicensesCommand(&a.Printer),
	)
	root.AddCommand(apply.NewCommands(a)...)
	root.AddCommand(about.NewOutputTopic(&a.Printer, root))
	addNames(root)
	fitHelp(root)
	values.Apply(root, a)
	command.CheckChanges(root)
	command.CheckFormats(&a.Printer, root)
	return root
}

// addCobraCommands adds the commands help and completion, which cobra would add itself, and makes
// them refuse what they do not know with the exit code of a usage error.
func addCobraCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = topicArgs
		case "completion":
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
				shell.Args = refuseArgs
			}
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if len(args) > 0 {
					return exit.Usagef("unknown shell %q: want %s", args[0], wording.Or(shells))
				}
				return nil
			}
		}
	}
}

// topicArgs makes `jobagent help foo` fail, as `jobagent foo` does. Cobra prints the help of the
// last command that it knows.
func topicArgs(cmd *cobra.Command, args []string) error {
	root := cmd.Root()
	found, rest, err := root.Find(args)
	switch {
	case err == nil && len(rest) == 0:
		return nil
	case found.IsAdditionalHelpTopicCommand():
		return exit.Usagef("unknown help topic %q: see %s help %s", strings.Join(args, " "), root.Name(), found.Name())
	}
	return exit.Usagef("unknown command %q: see %s --help", root.Name()+" "+strings.Join(args, " "), found.CommandPath())
}

// refuseArgs refuses the arguments of a command that takes none.
func refuseArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("unexpected argument %q: see %s --help", args[0], cmd.CommandPath())
	}
	return nil
}
