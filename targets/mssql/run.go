package mssql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/golang-sql/sqlexp"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// Runner runs scripts on targets. Safe for concurrent use.
type Runner struct {
	servers *Servers
	limits  targets.Limits
}

// NewRunner returns a runner. The caller closes servers.
func NewRunner(servers *Servers, limits targets.Limits) *Runner {
	return &Runner{servers: servers, limits: limits.WithDefaults()}
}

// Servers returns the Servers that open the runner's sessions.
func (r *Runner) Servers() *Servers { return r.servers }

// Attempt is one try of a step's script, its Command, on one target.
type Attempt struct {
	targets.Attempt
	// Variables are replaced in the script; nil means none.
	Variables Variables
	// Parameters are the parameters of the run; nil means none. They replace $(param.NAME) and
	// $(payload.PATH) in the script.
	Parameters *parameters.Parameters
	// Options are the options of the step that only agents read. With BindParameters, the
	// parameters are variables of the batches that mention them: tenant is @tenant, and the whole
	// object is @payload.
	Options model.AgentOptions
	// Output is the table for the first result set; nil means that the result set is dropped.
	Output *Output
	// Once makes the script run at most once over all its attempts; nil means that each attempt
	// runs it.
	Once *Once
	// Trial makes the script run in a transaction that is rolled back; nil commits as the script
	// does. Output and Once must be nil with it.
	Trial *Trial
	// Probes means that the result has the values that the script returned. Trial and Preflight
	// must be nil with it.
	Probes bool
	// Preflight makes the attempt check the target instead of running the script; nil runs the
	// script. Output, Once and Trial must be nil with it.
	Preflight *Preflight
}

// Run makes the attempt. It returns soon after ctx ended (see cancel.go), and leaves no session and
// no goroutine behind. The cause of ctx decides the outcome of an interrupted attempt:
// ErrStopRequested makes it Canceled if the server is known to have ended the script, ErrTimeout or
// context.DeadlineExceeded make it TimedOut, and any other cause makes it Unknown, or NotSent if
// the script was not sent.
func (r *Runner) Run(ctx context.Context, a Attempt) targets.Result {
	start := time.Now()
	ctx, stop := canceledAtDeadline(ctx)
	defer stop()
	t := &attempt{Attempt: a, servers: r.servers, messages: &collector{limits: r.limits}}
	err := t.run(ctx)
	res := t.result(ctx, err)
	res.Elapsed = time.Since(start)
	res.Phases = t.phases
	return res
}

// canceledAtDeadline returns a context that ends with ctx, for the same cause, but whose Err is
// context.Canceled. context.DeadlineExceeded is a net.Error, after which the driver refuses to use
// the connection again, even if the server has acknowledged the attention; then the session could
// not be queried whether it is free. stop releases the context.
func canceledAtDeadline(ctx context.Context) (canceled context.Context, stop func()) {
	canceled, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return canceled, func() {
		detach()
		cancel(nil)
	}
}

// attempt is a running Attempt.
type attempt struct {
	Attempt
	servers  *Servers
	messages *collector

	spid int
	sent bool
	// open means that a batch was sent and that its end is not known.
	open   bool
	phases []targets.Phase
	// announces means that CONTEXT_INFO is to be set in the packet of the script's first batch that
	// permits it; announced means that it was set.
	announces, announced bool
	// ending is set when a script was canceled.
	ending ending

	outputs      *pool // pool of the output table's database; nil if there is none
	hadResultSet bool
	written      int64 // rows in the output table
	// alreadyRan means that an earlier attempt had committed the script, so that this attempt did
	// not send it.
	alreadyRan bool
	probed     probed
	// planned is the number of bytes of plans in reports.
	planned int
	// tried is the summary of a trial or preflight.
	tried string
	// leftOpen is a remark about transactions that the script left open; empty means none.
	leftOpen string
}

// opensTransaction matches scripts that may leave a transaction open. Only after these the server
// is queried, which costs a round trip.
var opensTransaction = regexp.MustCompile(`(?i)\bBEGIN\s+(DISTRIBUTED\s+)?TRAN|\bIMPLICIT_TRANSACTIONS\b`)

// run runs the script. It returns nil if all batches ran without an error of severity 11 or more
// and the output was written.
func (t *attempt) run(ctx context.Context) error {
	// Expand before the login, so that a missing parameter fails the attempt without sending
	// anything.
	batches, err := expandedBatches(t.Command, t.Variables, t.Parameters)
	if err != nil {
		return err
	}
	var tried []judged
	if t.Trial != nil {
		if tried, err = t.Trial.judge(batches); err != nil {
			return err
		}
	}
	connecting := time.Now()
	s, err := t.servers.openFor(ctx, t.Target.Server, t.Target.Database, t.Credential, newToken(), t.Session)
	t.phases = append(t.phases, targets.Phase{Name: targets.PhaseConnect, Start: connecting, End: time.Now(), Failed: err != nil})
	if err != nil {
		return causeOr(ctx, err)
	}
	defer s.close()
	defer func() { t.messages.drop(s.wire.droppedErrors()) }()
	if err = t.admit(ctx, s); err != nil {
		return causeOr(ctx, err)
	}
	if t.spid == 0 {
		t.spid = s.spid() // admit made no query
	}
	if t.spid == 0 { // the driver encrypts, and packets cannot be read
		stop := cutAfter(ctx, s.wire, ackWait)
		t.spid, err = s.number(ctx, "SELECT @@SPID")
		stop()
		if err != nil {
			return causeOr(ctx, fmt.Errorf("ask %s for the session id: %w", t.Target.Server, err))
		}
	}
	if t.Preflight != nil {
		return t.preflight(ctx, s)
	}
	if t.Trial != nil {
		return t.tryOut(ctx, s, tried)
	}
	if t.Once != nil {
		if t.alreadyRan, err = t.beginOnce(ctx, s); err != nil || t.alreadyRan {
			return err
		}
	}
	if t.Output != nil {
		err := t.openOutput(ctx)
		if t.outputs != nil {
			defer t.servers.release(t.outputs)
		}
		if err != nil {
			return causeOr(ctx, err)
		}
	}
	for _, b := range batches {
		var args []driver.NamedValue
		if t.Options.BindParameters {
			args = bound(b.Text, t.Parameters)
		}
		for range b.Count {
			if err := t.batch(ctx, s, b.Text, b.Line, args); err != nil {
				return err
			}
		}
	}
	if t.Once != nil {
		return t.commitOnce(ctx, s)
	}
	if opensTransaction.MatchString(t.Command) {
		t.noteOpenTransactions(ctx, s)
	}
	return nil
}

// admit calls Servers.admit, and cuts the connection when ctx ends. It decides whether the session
// is announced.
func (t *attempt) admit(ctx context.Context, s *session) error {
	defer cutAfter(ctx, s.wire, ackWait)()
	t.announces = t.Session != "" && !t.servers.cfg.AnonymousSessions
	if t.servers.cfg.AllowControlDatabase {
		if !t.announces {
			return nil
		}
		edition, err := t.servers.editionOf(ctx, s, t.Target.Server, t.Credential)
		t.announces = announceTo(edition)
		return err
	}
	id, err := t.servers.admit(ctx, s, t.Target.Server, t.Target.Database, t.Credential)
	t.spid, t.announces = cmp.Or(id.spid, s.spid()), t.announces && announceTo(id.edition)
	return err
}

// noteOpenTransactions adds a remark about transactions that the script left open. The server rolls
// them back when the session ends; without the remark, the attempt would look successful. If the
// server does not answer, the outcome of the script does not change.
func (t *attempt) noteOpenTransactions(ctx context.Context, s *session) {
	defer cutAfter(ctx, s.wire, ackWait)()
	if n, err := s.openTransactions(ctx); err == nil && n > 0 {
		t.leftOpen = "The script left a transaction open (@@TRANCOUNT " + strconv.Itoa(n) +
			"): its changes since BEGIN TRANSACTION were rolled back."
		t.messages.remark(t.leftOpen)
	}
}

// causeOr returns the cause of ctx if ctx has ended, because err is then only a consequence;
// otherwise it returns err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// batch sends one batch, with its bound variables, and reads the whole answer. If the answer is not
// complete, the error is the cause of ctx if ctx has ended, otherwise the reason why the connection
// broke. If the answer is complete, the error is the first one of severity 11 or more, otherwise
// the error of the output.
func (t *attempt) batch(ctx context.Context, s *session, text string, line int, args []driver.NamedValue) error {
	before, _ := s.wire.state()
	stop := cutAfter(ctx, s.wire, ackWait)
	defer stop()

	if ctx.Err() != nil {
		t.ending = ending{true, "the script was between two batches, and the rest was not sent"}
		return context.Cause(ctx)
	}
	rows := tdsguard.NoRows // the rows are not read
	if t.Probes || t.Output != nil && !t.hadResultSet {
		rows = tdsguard.KeptRows
	}
	s.wire.setRows(rows)
	if t.announces && !t.announced && len(args) == 0 {
		text, t.announced = announced(text)
	}
	var queue sqlexp.ReturnMessage
	// The leading blank keeps the driver from taking a batch of one word for a procedure's name.
	answer, err := s.query(ctx, " "+text, &queue, args...)
	if after, _ := s.wire.state(); after > before {
		t.sent, t.open = true, true
	}
	if err != nil {
		if ctx.Err() != nil && t.sent {
			t.end(t.confirmEnd(ctx, s, false))
		}
		return causeOr(ctx, fmt.Errorf("send the script: %w: %w", errConnectionLost, err))
	}
	p := startPump(&queue, t.messages, line)
	outputErr, err := t.takeOutput(ctx, answer, p, s.wire)
	if t.Probes && err == nil && outputErr == nil {
		err = t.probed.read(ctx, answer, s.wire)
	}
	for err == nil {
		err = answer.Next(nil) // skips all result sets; the guard drops their rows
	}
	s.finish(answer)
	p.stop()

	_, broken := s.wire.state()
	var exceeded *tdsguard.Exceeded
	switch {
	case errors.Is(err, io.EOF) && broken == nil && p.err == nil:
		t.open = false
		return cmp.Or(t.messages.failure(), s.wire.unexplained(), outputErr)
	case ctx.Err() != nil:
		t.end(t.confirmEnd(ctx, s, broken == nil && errors.Is(err, ctx.Err())))
		return context.Cause(ctx)
	case errors.As(broken, &exceeded):
		how := ending{true, "the script was canceled on the server"}
		if !s.wire.cancel(ackWait) {
			how = t.confirmEnd(ctx, s, false)
		}
		t.end(how)
		return &limitError{exceeded}
	case t.messages.endedSession() && !t.messages.inDoubt():
		t.open = false
		return t.messages.failure()
	default:
		return fmt.Errorf("%w while the script ran: %w", errConnectionLost, cmp.Or(broken, p.err, err))
	}
}

// end records how a canceled script ended.
func (t *attempt) end(how ending) { t.ending, t.open = how, !how.verified }

// takeOutput writes the first result set of the script, if any, to the output table, and leaves the
// rest of the answer unread. readErr means that the answer cannot be read any further.
func (t *attempt) takeOutput(ctx context.Context, answer driver.Rows, p *pump, w *wire) (outputErr, readErr error) {
	if t.Output == nil || t.hadResultSet {
		return nil, nil
	}
	set, err := newResultSet(answer, w)
	if set == nil {
		return err, ctx.Err() // the driver reports an answer that broke off as one without result sets
	}
	t.hadResultSet = true
	if t.Probes {
		t.probed.sets++
		set.probed = &t.probed
	}
	outputErr = t.writeOutput(ctx, set, p)
	if !t.Probes || outputErr != nil {
		w.setRows(tdsguard.NoRows)
	}
	for set.next() {
		continue // skips rows that were not written
	}
	return outputErr, set.err
}

// pump takes the messages of one batch out of the driver's queue while the rows are read. The
// driver stops reading the network when its queue of 15 messages is full.
type pump struct {
	queue *sqlexp.ReturnMessage
	done  chan struct{}
	err   error // an error that is not the server's; valid after stop
	sets  int   // result sets; valid after stop
}

// pumpMark is a mark in the queue. When the pump receives it, all messages before it have been
// taken.
type pumpMark struct{ reached chan struct{} }

// pumpEnd is a mark that ends the pump.
type pumpEnd struct{}

func startPump(queue *sqlexp.ReturnMessage, to *collector, line int) *pump {
	p := &pump{queue: queue, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for {
			switch m := queue.Message(context.Background()).(type) {
			case sqlexp.MsgNotice:
				if info, ok := m.Message.(mssqldb.Error); ok {
					to.server(info, line)
				}
			case sqlexp.MsgError:
				var e mssqldb.Error
				if errors.As(m.Error, &e) {
					to.server(e, line)
				} else if p.err == nil {
					p.err = m.Error
				}
			case sqlexp.MsgNext:
				p.sets++
			case sqlexp.MsgRowsAffected:
				to.affected(m.Count)
			case pumpMark:
				close(m.reached)
			case pumpEnd:
				return
			}
		}
	}()
	return p
}

// sync waits until the collector has all messages that the driver has queued so far.
func (p *pump) sync() {
	mark := pumpMark{reached: make(chan struct{})}
	_ = sqlexp.ReturnMessageEnqueue(context.Background(), p.queue, mark)
	<-mark.reached
}

// stop ends the pump after the queued messages.
func (p *pump) stop() {
	_ = sqlexp.ReturnMessageEnqueue(context.Background(), p.queue, pumpEnd{})
	<-p.done
}
