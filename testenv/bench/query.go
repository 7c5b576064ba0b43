package bench

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// queries are the parameters of `jobagent bench query`.
type queries struct {
	targets, concurrency, rounds int
	statement                    string
	write                        bool
}

// newQueryCommand returns `jobagent bench query`.
func newQueryCommand(b *bench) *cobra.Command {
	q := queries{}
	cmd := &cobra.Command{
		Use: "query", Short: "Databases per second of jobagent query, compared with a bare go-mssqldb loop",
		Long: `Ask many databases one question as jobagent query does, in a transaction that is rolled back, and in a
loop that connects to each database with go-mssqldb, sends the statement, reads the answer and
disconnects, with the same concurrency. Both alternate, and each figure is the median of the rounds. ratio
and cpu_ratio are the medians of the quotients of neighbours; the processor's time, which depends little on
what else the machine does, includes that of an embedded server.
first_row is the time from the end of the first login to the first row; it is the largest of the rounds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case q.targets < 1 || q.targets > 20_000:
				return b.Usagef("--targets %d: must be 1 to 20000", q.targets)
			case q.concurrency < 1 || q.concurrency > 1000:
				return b.Usagef("--concurrency %d: must be 1 to 1000", q.concurrency)
			case q.rounds < 1 || q.rounds > 100:
				return b.Usagef("--rounds %d: must be 1 to 100", q.rounds)
			}
			return b.query(cmd.Context(), q)
		},
	}
	cmd.Flags().IntVar(&q.targets, "targets", 2000, "databases")
	cmd.Flags().IntVar(&q.concurrency, "concurrency", question.DefaultParallel, "concurrent databases")
	cmd.Flags().IntVar(&q.rounds, "rounds", 6, "measurements of each kind")
	cmd.Flags().StringVar(&q.statement, "statement", "SELECT COUNT(*) AS objects FROM sys.objects;", "T-SQL batch for each database")
	cmd.Flags().BoolVar(&q.write, "write", false, "ask without the transaction, as query --write does")
	return cmd
}

// query implements `jobagent bench query`.
func (b *bench) query(ctx context.Context, q queries) (err error) {
	s, err := b.startBench(ctx, "query", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	databases, err := s.createTargets(ctx, "bench query", q.targets)
	if err != nil {
		return err
	}
	batches, err := mssql.SplitBatches(q.statement)
	if err != nil {
		return b.Usagef("--statement: %w", err)
	}
	list := make([]targets.Target, len(databases))
	for i, database := range databases {
		list[i] = targets.NewTarget(s.serverName, database, "")
	}
	asked := question.Question{Batches: batches, Options: question.Options{
		Parallel: q.concurrency, Asking: mssql.Asking{ReadOnly: !q.write, Description: "query"},
	}}
	var rates, bareRates, ratios, used []float64
	var slowest time.Duration
	var elapsed, bare, first time.Duration
	var askedCPU, bareCPU float64
	ask := func() (err error) {
		before := cpuSeconds()
		elapsed, first, err = s.ask(ctx, asked, list)
		askedCPU = cpuSeconds() - before
		return err
	}
	loop := func() (err error) {
		before := cpuSeconds()
		bare, err = bareFanout(ctx, databases, q.concurrency, func(ctx context.Context, database string) error {
			return s.bareStatement(ctx, database, q.statement)
		})
		bareCPU = cpuSeconds() - before
		return err
	}
	for round := range q.rounds + 1 { // the first round only warms up
		// The server still ends the sessions of the one while the other runs: both come first.
		kinds := []func() error{loop, ask}
		if round%2 == 1 {
			slices.Reverse(kinds)
		}
		for _, measure := range kinds {
			if err := measure(); err != nil {
				return err
			}
		}
		if round > 0 {
			rates = append(rates, float64(q.targets)/elapsed.Seconds())
			bareRates = append(bareRates, float64(q.targets)/bare.Seconds())
			ratios = append(ratios, bare.Seconds()/elapsed.Seconds())
			if bareCPU > 0 {
				used = append(used, askedCPU/bareCPU)
			}
			slowest = max(slowest, first)
		}
	}
	s.report.add("targets", float64(q.targets), "", "")
	s.report.add("concurrency", float64(q.concurrency), "", "")
	s.report.add("query_rate", median(rates), "targets/s", "")
	s.report.add("bare_rate", median(bareRates), "targets/s", "")
	s.report.add("ratio", median(ratios), "", ">= 0.95")
	if len(used) > 0 {
		s.report.add("cpu_ratio", median(used), "", "")
	}
	s.report.add("first_row", milliseconds(slowest), "ms", "<= 200")
	return b.Print(s.report)
}

// ask asks all databases once. first is the time from the first login to the first row.
func (s *installation) ask(ctx context.Context, q question.Question, list []targets.Target) (elapsed, first time.Duration, err error) {
	began := time.Now()
	sink := &firstRow{began: began}
	encrypt, settings := "disable", mssql.Config{}
	if s.report.Server != Embedded {
		encrypt, settings.TrustServerCertificate = "true", true // as the bare loop, which verifies no more
	}
	set, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, s.DSN.Params.User, s.DSN.Params.Password, "*"))
	if err != nil {
		return 0, 0, err
	}
	settings.Credentials, settings.Encrypt = set, encrypt
	settings.OnLogin = func(time.Duration, targets.Class) { sink.login.CompareAndSwap(0, int64(time.Since(began))) }
	servers, err := mssql.NewServers(settings)
	if err != nil {
		return 0, 0, err
	}
	defer servers.Close()
	summary, err := q.Ask(ctx, servers, list, sink)
	elapsed = time.Since(began)
	if err == nil && len(summary.Failures) > 0 {
		err = fmt.Errorf("%s: %w", summary.Failures[0].Target, summary.Failures[0].Err)
	}
	return elapsed, time.Duration(sink.row.Load() - sink.login.Load()), err
}

// firstRow is a sink that notes when the first row came.
type firstRow struct {
	began      time.Time
	login, row atomic.Int64 // nanoseconds since began
}

// Begin implements [question.Sink].
func (f *firstRow) Begin(targets.Target, int, []mssql.Column) (question.Rows, error) { return f, nil }

// Message implements [question.Sink].
func (f *firstRow) Message(targets.Target, targets.Message) {}

// Row implements [question.Rows].
func (f *firstRow) Row([]driver.Value) error {
	if f.row.Load() == 0 {
		f.row.CompareAndSwap(0, int64(time.Since(f.began)))
	}
	return nil
}

// End implements [question.Rows].
func (f *firstRow) End(error) error { return nil }
