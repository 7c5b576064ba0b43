// Package question has the commands that ask databases through the agents.
package question

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/questions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// NewCommand returns `jobagent question`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("question", "Ask many databases a question through the agents",
		command.StandsFor("jobs.sp_ask_question", a.Prints([]output.AnswerRow{}, newAskCommand(a))),
		command.StandsFor("jobs.questions", newListCommand(a)),
		a.Prints(output.QuestionDetail{}, newShowCommand(a)),
		command.StandsFor("jobs.question_rows", a.Prints([]output.AnswerRow{}, newRowsCommand(a))),
		command.StandsFor("jobs.sp_cancel_question", a.Prints(questions.Question{}, newCancelCommand(a))),
	)
	cmd.Long = `Ask the databases of a target group a question in T-SQL. An agent asks them, with the credentials of agents, and keeps the rows in
the control database for a day. Nothing is changed: the text runs in a transaction that is rolled back.

Who asks needs no login of the databases, only the role jobs_operator; jobagent query asks with a login of one's own, without an agent.
Questions are off until an administrator switches them on (jobagent setting set questions 1), because whoever asks reads what
agents can read. Only who asked, and administrators, read the rows; the audit log has each question.`
	return cmd
}

// poll is the pause between two looks at a question that has not ended.
const poll = 250 * time.Millisecond

// progressTime is the time between two lines about the progress.
const progressTime = 5 * time.Second

// readRows is how many rows one call reads.
const readRows = 1000

func newAskCommand(a *connect.App) *cobra.Command {
	var q questions.Spec
	var file string
	var total, ofTarget int
	var limit time.Duration
	var noWait bool
	cmd := command.Rows(&cobra.Command{
		Use: "ask [SQL]", Short: "Ask a target group, and print the rows", Args: cobra.MaximumNArgs(1),
		Long: `Ask the databases of a target group a question, wait until an agent has asked all of them, and print the rows as jobagent query
does. Databases that are paused are not asked. Ctrl-C cancels the question on the servers. Exit codes:

  0    all databases have answered
  7    a database failed, or the question was canceled
  130  Ctrl-C: the question is canceled`,
		Example: `  jobagent question ask --target-group tenants "SELECT COUNT(*) AS orders FROM dbo.Orders"
  jobagent question ask --target-group tenants --file question.sql --max-rows 10000 -o csv
  jobagent question ask --target-group tenants "SELECT @@VERSION AS version" --no-wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit%time.Second != 0 {
				return exit.Usagef("--timeout %s: want whole seconds", limit)
			}
			var err error
			if q.Text, err = command.SQL(args, file, a.Stdin); err != nil {
				return err
			}
			q.MaxRows = command.Given(cmd, "max-rows", total)
			q.MaxRowsOfTarget = command.Given(cmd, "max-rows-of-target", ofTarget)
			q.TimeoutSeconds = command.Given(cmd, "timeout", int(limit/time.Second))
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				return ask(cmd.Context(), a, store, q, noWait)
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&q.TargetGroup, "target-group", "", "the target `GROUP`")
	flags.StringVar(&file, "file", "", "read the question from this `FILE`; - is standard input")
	flags.StringVar(&q.Credential, "credential", "", "the credential, as of a step (default: the agent's own)")
	flags.IntVar(&total, "max-rows", 1000, "most rows of all databases together, at most 10000")
	flags.IntVar(&ofTarget, "max-rows-of-target", 0, "most rows of one database (default: as many as of all)")
	command.AddDuration(flags, &limit, "timeout", 30*time.Second, "how long one database may take, its login included, at most 10m")
	flags.BoolVar(&noWait, "no-wait", false, "print the question, and do not wait for the rows")
	cobra.CheckErr(cmd.MarkFlagRequired("target-group"))
	return a.PrintsWith("--no-wait", questions.Question{}, cmd)
}

// ask asks a question and, unless noWait, prints the rows.
func ask(ctx context.Context, a *connect.App, store *controldb.Store, spec questions.Spec, noWait bool) error {
	id, err := questions.On(store).Ask(ctx, spec)
	if err != nil {
		return err
	}
	if noWait {
		q, err := questions.On(store).Get(ctx, id)
		if err != nil {
			return err
		}
		return a.Done(q, "asked question %d: jobagent question rows %d prints the rows", id, id)
	}
	q, err := await(ctx, a, store, id)
	if ctx.Err() != nil {
		return interrupted(ctx, store, id)
	}
	if err != nil {
		return err
	}
	return printRows(ctx, a, store, q)
}

// await waits for the end of a question, and says on stderr how far it is.
func await(ctx context.Context, a *connect.App, store *controldb.Store, id int64) (q questions.Question, err error) {
	said, last := "", time.Now()
	err = command.Poll(ctx, poll, func() (bool, error) {
		if q, err = questions.On(store).Get(ctx, id); err != nil {
			return false, err
		}
		if now := progress(q); q.Active && now != said && time.Since(last) >= progressTime && a.Live != terminal.ProgressNone {
			said, last = now, time.Now()
			fmt.Fprintf(a.Stderr, "question %d: %s\n", id, now)
		}
		return !q.Active, nil
	})
	return q, err
}

// progress says how far a question is.
func progress(q questions.Question) string {
	switch {
	case q.Start.IsZero():
		return "no agent has begun with it"
	case q.Targets == nil:
		return "the target group is being resolved"
	}
	return fmt.Sprintf("%d of %s have answered", q.Answered+q.Failed, wording.Count(*q.Targets-q.Paused, "database"))
}

// interrupted cancels a question after Ctrl-C.
func interrupted(ctx context.Context, store *controldb.Store, id int64) error {
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	if err := questions.On(store).Cancel(ending, id); err != nil {
		return exit.With(exit.CodeInterrupted, fmt.Errorf("interrupted; question %d may go on, because it could not be canceled: %w", id, err))
	}
	return exit.With(exit.CodeInterrupted, fmt.Errorf("interrupted: question %d is canceled", id))
}

// printRows prints the rows of a question, and reports what did not succeed.
func printRows(ctx context.Context, a *connect.App, store *controldb.Store, q questions.Question) error {
	kept := output.NewKeptAnswers(&a.Printer)
	err := rows(ctx, store, q.ID, kept)
	if closing := kept.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return report(ctx, a, store, q)
}

// rows passes all rows on.
func rows(ctx context.Context, store *controldb.Store, id int64, to *output.KeptAnswers) error {
	for after := 0; ; {
		list, err := questions.On(store).Rows(ctx, id, after, readRows)
		if err != nil {
			return err
		}
		shapes, err := questions.On(store).Shapes(ctx, id) // after the rows: an agent may be adding both
		if err != nil {
			return err
		}
		to.Shapes(shapes)
		for _, r := range list {
			if err := to.Row(r); err != nil {
				return err
			}
			after = r.Number
		}
		if len(list) < readRows {
			return nil
		}
	}
}

// report prints the errors of a question, and returns the error that ends the command.
func report(ctx context.Context, a *connect.App, store *controldb.Store, q questions.Question) error {
	errs, err := questions.On(store).Errors(ctx, q.ID)
	if err != nil {
		return err
	}
	printErrors(a.Stderr, errs)
	if q.Cut {
		fmt.Fprintf(a.Stderr, "A limit has cut rows off: there are %s.\n", wording.Count(q.Rows, "row"))
	}
	if q.Paused > 0 {
		fmt.Fprintf(a.Stderr, "%s %s paused, and %s not asked: jobagent target list shows pauses.\n", wording.Count(q.Paused, "database"),
			wording.Plural(q.Paused, "is", "are"), wording.Plural(q.Paused, "was", "were"))
	}
	if a.Text() {
		fmt.Fprintf(a.Stderr, "%s, %s\n", wording.Count(q.Answered+q.Failed, "database"), wording.Count(q.Rows, "row"))
	}
	switch {
	case q.Active:
		fmt.Fprintf(a.Stderr, "Question %d has not ended: %s.\n", q.ID, progress(q))
		return nil
	case q.Lifecycle == jobs.Succeeded:
		return nil
	case q.Failed > 0 && q.Lifecycle == jobs.Failed:
		return exit.With(exit.CodeRunFailed, fmt.Errorf("%d of %s failed", q.Failed, wording.Count(q.Answered+q.Failed, "database")))
	}
	return exit.With(exit.CodeRunFailed, fmt.Errorf("question %d is %s: %s", q.ID, q.Lifecycle, output.OneLine(cmp.Or(q.Message, "no reason is known"))))
}

// printErrors prints why databases have not answered.
func printErrors(w io.Writer, errs []questions.Error) {
	for _, e := range errs {
		fmt.Fprintf(w, "%s: %s\n  %s\n", wording.Count(e.Targets, "database"), output.OneLine(e.Message), output.OneLine(output.SomeDatabases(e.Names)))
	}
}

// columns are those of question list.
var columns = output.Columns([]output.Column[questions.Question]{
	{Name: "question_id", Header: "ID", ID: true, Keep: true},
	{Name: "target_group_name", Header: "GROUP", Min: 10, Keep: true},
	{Name: "lifecycle", State: true, Keep: true},
	{Name: "targets", Right: true, Drop: 5},
	{Name: "answered", Right: true, Drop: 4},
	{Name: "failed", Right: true, Drop: 3},
	{Name: "paused", Right: true, Wide: true},
	{Name: "row_count", Header: "ROWS", Right: true, Drop: 2},
	{Name: "asked_time", Header: "ASKED", Drop: 6},
	{Name: "asked_by", Header: "BY", Min: 8, Drop: 7},
	{Name: "expire_time", Header: "KEPT UNTIL", Wide: true},
	{Name: "question", Min: 16, Rest: true, Drop: 1},
})

func newListCommand(a *connect.App) *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use: "list", Short: "List the questions that are kept, latest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", limit)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := questions.On(store).Questions(cmd.Context(), limit)
				if err != nil {
					return err
				}
				return output.List(&a.Printer, list, columns)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of questions")
	return command.List(&a.Printer, columns, cmd)
}

// parseID parses the number of a question.
func parseID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 {
		return 0, exit.Usagef("invalid ID %q of a question: want a number; jobagent question list shows the questions", s)
	}
	return id, nil
}

// read returns a question. It fails with [exit.CodeNotFound] if there is none.
func read(ctx context.Context, store *controldb.Store, id int64) (questions.Question, error) {
	q, err := questions.On(store).Get(ctx, id)
	return q, found(id, err)
}

// found gives [dberror.ErrQuestionNotFound] its exit code, and says what to do.
func found(id int64, err error) error {
	if errors.Is(err, dberror.ErrQuestionNotFound) {
		return exit.With(exit.CodeNotFound, fmt.Errorf("question %d does not exist, or was deleted; jobagent question list shows the questions", id))
	}
	return err
}

func newShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show QUESTION_ID", Short: "Show a question, how far it is, and why databases failed", Args: cobra.ExactArgs(1),
		RunE: connect.One(a.ReadStore, parseID, func(cmd *cobra.Command, id int64, store *controldb.Store) error {
			q, err := read(cmd.Context(), store, id)
			if err != nil {
				return err
			}
			errs, err := questions.On(store).Errors(cmd.Context(), id)
			if err != nil {
				return err
			}
			d := output.QuestionDetail{Question: q, Errors: []output.QuestionError{}}
			for _, e := range errs {
				d.Errors = append(d.Errors, output.QuestionError{Message: e.Message, Targets: e.Targets, Names: e.Names})
			}
			return a.Emit(d, func(w io.Writer) error { return show(w, q, errs) })
		}),
	}
}

// show prints a question.
func show(w io.Writer, q questions.Question, errs []questions.Error) error {
	fmt.Fprintf(w, "Question %d to %s: %s\n", q.ID, output.OneLine(q.TargetGroup), q.Lifecycle)
	fmt.Fprintf(w, "Asked by %s at %s\n", output.OneLine(q.AskedBy), q.Asked.Format(time.RFC3339))
	if q.Active {
		fmt.Fprintf(w, "So far: %s\n", progress(q))
	} else if q.Message != "" {
		fmt.Fprintf(w, "%s\n", output.OneLine(q.Message))
	}
	if !q.CancelRequested.IsZero() {
		fmt.Fprintf(w, "Canceled by %s\n", output.OneLine(q.CanceledBy))
	}
	fmt.Fprintf(w, "%s, of %s\n", wording.Count(q.Rows, "row"), wording.Count(q.Answered, "database"))
	if !q.Readable {
		fmt.Fprintln(w, "Only who asked, and administrators, may read the text and the rows.")
		return nil
	}
	fmt.Fprintf(w, "The rows are kept until %s: jobagent question rows %d\n", q.Expires.Format(time.RFC3339), q.ID)
	printErrors(w, errs)
	_, err := fmt.Fprintf(w, "\n%s\n", output.Indent(q.Text, "  "))
	return err
}

func newRowsCommand(a *connect.App) *cobra.Command {
	return command.Rows(&cobra.Command{
		Use: "rows QUESTION_ID", Short: "Print the rows of a question", Args: cobra.ExactArgs(1),
		Long: `Print the rows that an agent has brought back for a question, as jobagent query prints them; of a question that has not ended, those
that are there. It exits with 7 if a database failed, or if the question was canceled.`,
		RunE: connect.One(a.ReadStore, parseID, func(cmd *cobra.Command, id int64, store *controldb.Store) error {
			q, err := read(cmd.Context(), store, id)
			if err != nil {
				return err
			}
			if !q.Readable {
				return fmt.Errorf("only who asked question %d, and administrators, may read its rows", id)
			}
			return printRows(cmd.Context(), a, store, q)
		}),
	})
}

func newCancelCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "cancel QUESTION_ID", Short: "Cancel a question: its queries on the servers are canceled", Args: cobra.ExactArgs(1),
		RunE: connect.One(a.WithStore, parseID, func(cmd *cobra.Command, id int64, store *controldb.Store) error {
			if err := questions.On(store).Cancel(cmd.Context(), id); err != nil {
				return found(id, err)
			}
			q, err := read(cmd.Context(), store, id)
			if err != nil {
				return err
			}
			if !q.Active {
				return a.Done(q, "question %d has ended: %s", id, q.Lifecycle)
			}
			return a.Done(q, "question %d is being canceled", id)
		}),
	}
}
