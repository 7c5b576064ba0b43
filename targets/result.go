package targets

import (
	"fmt"
	"time"
)

// Outcome is the outcome of one attempt.
type Outcome string

const (
	// Succeeded means that every batch ran and that no error of severity 11 or more was reported.
	Succeeded Outcome = "Succeeded"
	// Failed means that the target reported an error, or that a connection could not be made.
	Failed Outcome = "Failed"
	// TimedOut means that the step's time limit passed.
	TimedOut Outcome = "TimedOut"
	// Canceled means that an operator stopped the run.
	Canceled Outcome = "Canceled"
	// Unknown means that the command was sent and that its outcome cannot be known (I8): the
	// connection broke, or the agent had to abandon the attempt.
	Unknown Outcome = "Unknown"
	// NotSent means that no part of the command was sent before the agent abandoned the attempt.
	// The attempt may be handed back and does not count.
	NotSent Outcome = "NotSent"
	// Accepted means that an action was accepted and that a report from outside ends it (I12).
	Accepted Outcome = "Accepted"
	// NoAnswer means that a whole request was sent and that no answer came in time. The outcome is
	// then Unknown, unless the step awaits a report.
	NoAnswer Outcome = "NoAnswer"
)

// MessageKind is the kind of a message.
type MessageKind string

const (
	// KindInfo is PRINT, RAISERROR below severity 11, and the server's own information messages.
	KindInfo MessageKind = "Info"
	// KindError is an error of severity 11 or more.
	KindError MessageKind = "Error"
	// KindRows is a row count, shown as "(3 rows affected)" in a query window.
	KindRows MessageKind = "Rows"
	// KindAgent is a remark of the agent about the attempt.
	KindAgent MessageKind = "Agent"
	// KindResponse is the status line and the kept headers of a response, or the id that a queue
	// gave a message. Number is the status code.
	KindResponse MessageKind = "Response"
	// KindBody is the kept part of a response's body; base64 if it is not UTF-8.
	KindBody MessageKind = "Body"
	// KindOutput is a line or block of the standard output of a process.
	KindOutput MessageKind = "Output"
	// KindErrorOutput is a line or block of the standard error of a process.
	KindErrorOutput MessageKind = "ErrorOutput"
	// KindExit is the end of a process. Number is the exit code.
	KindExit MessageKind = "Exit"
)

// Message is one message of the script, the server or the agent during an attempt.
type Message struct {
	// Kind decides which of the fields below are set.
	Kind MessageKind
	// Number, Severity (class) and State are the server's; 0 for KindRows and KindAgent. PRINT has
	// number 0 and severity 0.
	Number   int32
	Severity uint8
	State    uint8
	// Line counts from 1 at the script's first line, whatever batch it is in; 0 means unknown.
	// Inside a procedure it is the line in the procedure's own text.
	Line int32
	// Procedure is the procedure, function or trigger that sent the message; empty for the script
	// itself.
	Procedure string
	// Server is the server's own name (@@SERVERNAME).
	Server string
	// Text ends in "…" if it was cut.
	Text string
	// Rows is the row count of a KindRows message.
	Rows int64
}

// ErrorDetail is the error that decided the outcome of an attempt. The zero value means no error.
type ErrorDetail struct {
	// Number, Severity, State, Line and Procedure are as in Message. They are zero if no server
	// reported the error.
	Number    int32
	Severity  uint8
	State     uint8
	Line      int32
	Procedure string
	// Text is the whole message, without secrets.
	Text string
	// Class is the class of the error; see Class.
	Class Class
}

// String returns the error in one line, in the form of a query window; empty for the zero value.
func (d ErrorDetail) String() string {
	if d.Number == 0 {
		return d.Text
	}
	text := fmt.Sprintf("Msg %d, Level %d, State %d", d.Number, d.Severity, d.State)
	if d.Procedure != "" {
		text += ", Procedure " + d.Procedure
	}
	if d.Line > 0 {
		text += fmt.Sprintf(", Line %d", d.Line)
	}
	return text + ": " + d.Text
}

// Result is the result of one attempt.
type Result struct {
	// Outcome is never empty.
	Outcome Outcome
	// Summary is one or two sentences for the column last_message. It may be empty for Succeeded.
	Summary string
	// Error is the deciding error; zero for Succeeded. For Canceled and TimedOut it is the server's
	// last error, if any.
	Error ErrorDetail
	// Err is Error as a Go error, for errors.Is and errors.As; nil for Succeeded.
	Err error
	// Messages are in the order in which they arrived, cut to the runner's limits.
	Messages []Message
	// MessagesDropped counts the messages beyond the limits.
	MessagesDropped int
	// RowsAffected is the sum of all row counts, of statements that change data and of SELECTs.
	RowsAffected int64
	// RowsWritten counts the rows that were written to the output table.
	RowsWritten int64
	// Elapsed is the time from dialing the target to the end of the attempt.
	Elapsed time.Duration
	// SPID is the server's session ID (@@SPID), with which an operator can find the session; 0
	// means unknown.
	SPID int
	// Sent reports whether any batch of the script, or any byte of an action's request, was handed
	// to the network. For a process, it reports whether the process was started.
	Sent bool
	// OutcomeUnknown means, for TimedOut, that the command may still run or take effect, because
	// its end, or the answer to its request, was not seen (I8). For Unknown and NoAnswer, the
	// outcome itself means this.
	OutcomeUnknown bool
	// NoRetry means that another attempt cannot help, whatever the step's policy is: a fault of the
	// definition, for example.
	NoRetry bool
	// Phases are the parts of the attempt for its trace, in the order in which they began.
	Phases []Phase
	// RetryAfter is the wait that the target asked for before another attempt; 0 means none.
	RetryAfter time.Duration
	// Probed is the result of a probe; nil for other scripts, and unless the probe ran and
	// succeeded.
	Probed *Probed
}

// Probed is the result of the script of a probe.
type Probed struct {
	// Rows counts the rows of all result sets.
	Rows int64
	// Value is the first column of the first row of the first result set, with at most 38 digits
	// and without an exponent; empty if there is no such row, or if it is NULL or no number.
	Value string
}

// Phase is a part of an attempt.
type Phase struct {
	// Name is one of the constants below.
	Name       string
	Start, End time.Time
	// Method and Status are those of an HTTP request; Status is 0 without an answer.
	Method string
	Status int
	// Server is host or host:port of the request; empty for the attempt's own target.
	Server string
	// Failed says that the part failed.
	Failed bool
}

// The names of phases.
const (
	// PhaseConnect is the connection with its login.
	PhaseConnect = "connect"
	// PhaseRequest is the request of an action with its answer, redirects included. The endpoint
	// gets its span as the parent (ActionAttempt.TraceParent).
	PhaseRequest = "request"
)
