package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// attempt is a running ActionAttempt.
type attempt struct {
	targets.ActionAttempt
	*Runner
	entry *entry

	sent    bool
	remarks []targets.Message // before the output
	output  *capture
	stdout  *stream
	stderr  *stream
	closing []targets.Message // after the output
	cause   error             // the cause of ctx, if ctx ended the attempt
	ended   bool              // the process is known to have ended
}

// remark adds a sentence of the agent before or after the output.
func remark(list *[]targets.Message, format string, args ...any) {
	*list = append(*list, targets.Message{Kind: targets.KindAgent, Text: fmt.Sprintf(format, args...)})
}

// run runs the process. It returns nil if the process ended with a success code.
func (t *attempt) run(ctx context.Context) (err error) {
	if t.entry, err = t.check(t.Action); err != nil {
		return err
	}
	limits := limits{memory: t.entry.memory(t.Action.Process.MaxMemory), processes: t.entry.MaxProcesses}
	if limits.memory > 0 {
		if limits.way, err = t.host.memoryWay(t.entry.MemoryLimit); err != nil {
			return refuse(false, t.entry.Name, "memory cannot be limited to %s: %w", size(limits.memory), err)
		}
		remark(&t.remarks, "Memory is limited to %s by %s.", size(limits.memory), limits.way)
	}
	if ctx.Err() != nil {
		t.cause = context.Cause(ctx)
		return t.cause
	}
	left, err := t.host.endLeftovers(t.Key.String())
	if left > 0 {
		remark(&t.remarks, "%s of an earlier attempt still ran and %s killed.", processes(left), was(left))
	}
	if err != nil {
		return fmt.Errorf("kill the processes of an earlier attempt: %w", err)
	}
	dir, err := t.makeDirectory()
	if err != nil {
		return fmt.Errorf("make the attempt's directory: %w", err)
	}
	defer func() {
		if t.sent && !t.ended {
			dir.lock.Close() // the process may use it; the next attempt or agent removes it
			return
		}
		if removeErr := dir.remove(); removeErr != nil {
			remark(&t.closing, "The attempt's directory could not be removed: %v.", removeErr)
		}
	}()
	tree, err := t.host.newTree(t.Key.String(), t.Number, limits)
	if err != nil {
		return fmt.Errorf("prepare the limits of the process: %w", err)
	}
	defer func() {
		if closeErr := tree.close(); closeErr != nil {
			remark(&t.closing, "The limits of the process could not be removed: %v.", closeErr)
		}
	}()
	return t.runTree(ctx, tree, dir, limits)
}

// runTree starts the process, waits for its end, and kills the rest of its tree.
func (t *attempt) runTree(ctx context.Context, tree *tree, dir directory, limits limits) error {
	pipes, err := newPipes()
	if err != nil {
		return fmt.Errorf("make the pipes of the process: %w", err)
	}
	defer pipes.close()
	cmd := &exec.Cmd{
		Path: t.entry.Path, Args: slices.Concat([]string{t.entry.Path}, t.entry.Args, t.Action.Process.Args),
		Dir: dir.path, Env: t.environment(dir),
		Stdin: pipes.stdin[0], Stdout: pipes.stdout[1], Stderr: pipes.stderr[1],
	}
	if t.entry.Dir != "" {
		cmd.Dir = t.entry.Dir
	}
	before, err := t.begin(ctx)
	if err != nil {
		return err
	}
	p := t.host.start(cmd, tree, t.entry)
	if err := <-p.started; err != nil {
		return fmt.Errorf("start the process: %w", err)
	}
	t.sent = true
	t.output = newCapture(t.Action.Process.OutputLimit)
	t.output.watch = t.watch
	t.stdout = t.output.stream(targets.KindOutput, t.secrets())
	t.stderr = t.output.stream(targets.KindErrorOutput, t.secrets())
	pipes.run(t.input(), t.stdout, t.stderr)

	var reason error
	if !time.Now().Before(before) {
		reason = errLate
		tree.kill()
	}
	end, reason := t.supervise(ctx, p, tree, limits, reason)
	if end == nil {
		pipes.cut()
		return errNoEnd
	}
	t.ended = end.complete
	if !pipes.wait(t.drain) {
		remark(&t.closing, "A process that was not ended kept the output open: it was closed after %v.", t.drain)
	}
	return t.judge(end, tree, limits, reason)
}

// errLate means that the process was started after the instant that Begin had returned.
var errLate = errors.New("the process started after the agent's lease, and was killed at once")

// begin records the attempt in the control database. It returns the instant before which the
// process must start.
func (t *attempt) begin(ctx context.Context) (before time.Time, err error) {
	before, err = t.Begin(ctx)
	switch {
	case ctx.Err() != nil:
		t.cause = context.Cause(ctx)
		return before, t.cause
	case err != nil:
		return before, fmt.Errorf("%w: %w", errNotBegun, err)
	case !time.Now().Before(before):
		return before, fmt.Errorf("%w: the agent's lease is about to end", errNotBegun)
	}
	return before, nil
}

// supervise waits for the end of the process, and ends the process when ctx ends or a limit is
// exceeded. The returned reason is why the process was ended; nil means that it ended by itself.
// The returned end is nil if the process did not end.
func (t *attempt) supervise(ctx context.Context, p *running, tree *tree, limits limits, reason error) (*ending, error) {
	done, exceeded := ctx.Done(), (<-chan struct{})(nil)
	if t.Action.Process.OutputHalt {
		exceeded = t.output.exceeded
	}
	var poll, kill <-chan time.Time
	if tree.polled(limits) {
		ticker := time.NewTicker(t.pollMemory)
		defer ticker.Stop()
		poll = ticker.C
	}
	var giveUp <-chan time.Time
	if reason != nil {
		done, exceeded, poll, giveUp = nil, nil, nil, time.After(t.drain)
	}
	stop := func(why error) { // kills at once
		reason, done, exceeded, poll = why, nil, nil, nil
		tree.kill()
		giveUp = time.After(t.drain)
	}
	for {
		select {
		case end := <-p.ended:
			return &end, reason
		case <-done:
			select {
			case end := <-p.ended: // the process ended by itself at the same time
				return &end, reason
			default:
			}
			t.cause = context.Cause(ctx)
			reason, done, exceeded, poll = t.cause, nil, nil, nil
			grace := t.hurry
			if stopped(t.cause) || timedOut(t.cause) {
				grace = t.grace
			}
			if tree.interrupt() != nil {
				grace = 0
			}
			kill = time.After(grace)
		case <-kill:
			kill = nil
			remark(&t.closing, "The process did not end in time after the request to end, and was killed.")
			tree.kill()
			giveUp = time.After(t.drain)
		case <-exceeded:
			stop(&limitError{fmt.Sprintf("the output exceeded the limit of %s", size(t.output.limit))})
		case <-poll:
			if why := tree.measure(limits); why != "" {
				stop(&limitError{why})
			}
		case <-giveUp:
			return nil, reason
		}
	}
}

func stopped(cause error) bool { return errors.Is(cause, targets.ErrStopRequested) }

func timedOut(cause error) bool {
	return errors.Is(cause, targets.ErrTimeout) || errors.Is(cause, context.DeadlineExceeded)
}

// ending is the end of the first process of a tree.
type ending struct {
	state *os.ProcessState
	// left is the number of other processes of the tree that still ran and were killed.
	left int
	// complete means that no process of the tree is known to run.
	complete bool
}

// judge returns the reason why the attempt is not a success; nil means that it is one.
func (t *attempt) judge(end *ending, tree *tree, limits limits, reason error) error {
	if end.left > 0 && reason == nil {
		remark(&t.closing, "%s that the process had started still ran and %s killed.", processes(end.left), was(end.left))
	}
	if !end.complete {
		remark(&t.closing, "Processes that the process had started could not be killed, and may still run.")
	}
	exit := describeExit(end.state)
	t.closing = append(t.closing, targets.Message{
		Kind: targets.KindExit, Number: int32(exit.Code), Text: exitText(exit, end.state),
	})
	if reason != nil {
		return reason
	}
	codes := t.Action.Process.SuccessCodes
	if len(codes) == 0 {
		codes = []int{0}
	}
	if exit.Signal == "" && slices.Contains(codes, exit.Code) {
		return nil
	}
	if text := tree.outOfMemory(limits, exit); text != "" {
		return &limitError{text}
	}
	return exit
}

// exitText returns the text of the message of kind Exit.
func exitText(exit *ExitError, state *os.ProcessState) string {
	text := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != "" {
		text = "ended by signal " + exit.Signal
	}
	return fmt.Sprintf("%s, processor time %v", text, (state.UserTime() + state.SystemTime()).Round(time.Millisecond))
}

// exitTemporary is EX_TEMPFAIL of sysexits.h: "temp failure; user is invited to retry".
const exitTemporary = 75

// hint returns the meaning of an exit code by the convention of shells; empty for other codes.
func hint(code int) string {
	switch {
	case code == exitTemporary:
		return "by convention: a temporary failure, which another attempt may repair"
	case code == 125:
		return "by convention: the program that starts the command failed itself"
	case code == 126:
		return "by convention: the command was found but cannot be executed"
	case code == 127:
		return "by convention: the command was not found"
	default:
		return ""
	}
}

// result returns the result of the attempt; err is the error of run.
func (t *attempt) result(err error) targets.Result {
	res := targets.Result{Err: err, Sent: t.sent, Messages: t.remarks}
	if t.output != nil {
		output, dropped := t.output.finish()
		res.Messages = append(res.Messages, output...)
		res.MessagesDropped = dropped
	}
	res.Messages = append(res.Messages, t.closing...)
	res.Outcome, res.Summary = t.outcome(err)
	res.OutcomeUnknown = res.Outcome == targets.TimedOut && t.sent && !t.ended
	if err == nil {
		return res
	}
	res.Error = targets.ErrorDetail{Text: err.Error(), Class: targets.ClassPermanent}
	var exit *ExitError
	if known, ok := targets.ClassifyCause(err); ok {
		res.Error.Class = known.Class
	} else if errors.As(err, &exit) && exit.Code == exitTemporary {
		res.Error.Class = targets.ClassTransient
	}
	if t.cause != nil && res.Outcome != targets.TimedOut {
		res.Error.Class = targets.ClassStopped
	}
	var refused *refusal
	res.NoRetry = errors.As(err, &refused) && refused.final
	if res.Summary == "" {
		res.Summary = sentence(err.Error())
		if line := t.lastError(); line != "" {
			res.Summary += " Standard error ended with: " + line
		}
	}
	return res
}

// lastError returns the last line of the standard error, for the summary of a failure.
func (t *attempt) lastError() string {
	if t.stderr == nil {
		return ""
	}
	return wording.Clip(t.stderr.lastLine(), 500, wording.Bytes)
}

// outcome returns the outcome of the attempt and its summary; an empty summary stands for the text
// of the error.
func (t *attempt) outcome(err error) (targets.Outcome, string) {
	end := "the process was ended."
	switch {
	case t.sent && !t.ended:
		end = "the process or one that it had started could not be ended, and may still run."
	case !t.sent:
		end = "the process was not started."
	}
	switch {
	case err == nil && t.Action.Callback != nil:
		return targets.Accepted, "The process ended successfully; a report from outside ends the step."
	case err == nil:
		return targets.Succeeded, ""
	case stopped(t.cause) && t.sent && !t.ended:
		return targets.Unknown, "The run was stopped, but " + end
	case stopped(t.cause):
		return targets.Canceled, "The run was stopped; " + end
	case timedOut(t.cause):
		return targets.TimedOut, "The step's time limit passed; " + end
	case t.cause != nil && !t.sent:
		return targets.NotSent, fmt.Sprintf("The agent gave the attempt up (%v) before the process was started.", t.cause)
	case t.cause != nil:
		return targets.Unknown, fmt.Sprintf("The agent gave the attempt up (%v) while the process ran; %s", t.cause, end)
	case errors.Is(err, errNotBegun):
		return targets.NotSent, sentence(err.Error())
	case errors.Is(err, errLate), errors.Is(err, errNoEnd):
		return targets.Unknown, sentence(err.Error())
	default:
		return targets.Failed, ""
	}
}

// sentence returns a text with a capital letter and a period.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// processes returns a number of processes in words.
func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// running is a started process.
type running struct {
	started chan error  // receives one value
	ended   chan ending // receives one value, if the process was started
}

// limits are the limits of one attempt.
type limits struct {
	memory    int64 // 0: none
	way       way
	processes int // 0: none
}

// pipes are the standard streams of a process: [0] is read, [1] is written.
type pipes struct {
	stdin, stdout, stderr [2]*os.File
	done                  chan struct{}
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	for _, ends := range []*[2]*os.File{&p.stdin, &p.stdout, &p.stderr} {
		var err error
		if ends[0], ends[1], err = os.Pipe(); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// run closes the ends of the process, which has copies of them, and moves the data until the
// process closes its ends. The callers of run must call wait or cut.
func (p *pipes) run(input string, stdout, stderr io.Writer) {
	p.stdin[0].Close()
	p.stdout[1].Close()
	p.stderr[1].Close()
	moves := []func(){
		func() {
			io.WriteString(p.stdin[1], input) //nolint:errcheck // a process need not read its input
			p.stdin[1].Close()
		},
		func() { io.Copy(stdout, p.stdout[0]) }, //nolint:errcheck // ends with an error when it is cut
		func() { io.Copy(stderr, p.stderr[0]) }, //nolint:errcheck // as above
	}
	ended := make(chan struct{}, len(moves))
	for _, move := range moves {
		go func() {
			defer func() { ended <- struct{}{} }()
			move()
		}()
	}
	p.done = make(chan struct{})
	go func() {
		for range moves {
			<-ended
		}
		close(p.done)
	}()
}

// wait waits until the data was moved. If this takes longer than limit, it cuts the pipes and
// returns false.
func (p *pipes) wait(limit time.Duration) bool {
	p.stdin[1].Close() // nobody reads the rest
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		p.cut()
		return false
	}
}

// cut closes the pipes, and waits until no more data is moved.
func (p *pipes) cut() {
	p.close()
	<-p.done
}

// close closes all ends.
func (p *pipes) close() {
	for _, ends := range [][2]*os.File{p.stdin, p.stdout, p.stderr} {
		for _, end := range ends {
			if end != nil {
				end.Close()
			}
		}
	}
}
