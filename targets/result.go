package targets

import (
	"fmt"
	"time"
)

// Outcome is how one attempt ended.
type Outcome string

const (
	// Succeeded means that every batch ran and that no error of severity 11 or more was reported.
	Succeeded Outcome = "Succeeded"
	// Failed means that the server, or a connection that was refused, said no.
	Failed Outcome = "Failed"
	// TimedOut means that the attempt was canceled because its time was over.
	TimedOut Outcome = "TimedOut"
	// Canceled means that the attempt was canceled because somebody asked for it.
	Canceled Outcome = "Canceled"
	// Unknown means that the script was sent and that nobody can say what became of it (I8): the
	// connection broke, or the agent had to let go of the attempt.
	Unknown Outcome = "Unknown"
	// NotSent means that nothing of the script was sent and that the agent had to let go of the attempt:
	// it may be handed back and does not count.
	NotSent Outcome = "NotSent"
)

// MessageKind says what a message is.
type MessageKind string

const (
	// KindInfo is PRINT, RAISERROR below severity 11, and the server's own information messages.
	KindInfo MessageKind = "Info"
	// KindError is an error of severity 11 or more.
	KindError MessageKind = "Error"
	// KindRows is a row count: what "(3 rows affected)" is in a query window.
	KindRows MessageKind = "Rows"
	// KindAgent is a remark of the agent about the attempt.
	KindAgent MessageKind = "Agent"
)

// Message is one thing that a script, the server or the agent said during an attempt.
type Message struct {
	// Kind says which of the fields below mean anything.
	Kind MessageKind
	// Number, Severity (class) and State are the server's; 0 for KindRows and KindAgent. PRINT has
	// number 0 and severity 0.
	Number   int32
	Severity uint8
	State    uint8
	// Line is 1 for the script's first line, whatever batch it is in; 0: unknown. Inside a procedure
	// it is the line of the procedure's own text.
	Line int32
	// Procedure is the procedure, function or trigger that said it; empty in the script itself.
	Procedure string
	// Server is the name that the server gives itself.
	Server string
	// Text may have been cut; it then ends in "…".
	Text string
	// Rows is the count of a KindRows.
	Rows int64
}

// ErrorDetail is the error that decided an attempt. The zero value means that there was none.
type ErrorDetail struct {
	// Number, Severity, State, Line and Procedure are as in Message; 0 and empty for errors that did
	// not come from a server.
	Number    int32
	Severity  uint8
	State     uint8
	Line      int32
	Procedure string
	// Text is the whole message, without secrets.
	Text string
	// Class says what kind of error it is, and so who should act.
	Class Class
}

// String is the error as a query window shows it, in one line; empty for the zero value.
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

// Result is what became of one attempt.
type Result struct {
	// Outcome is never empty.
	Outcome Outcome
	// Summary is one or two sentences for the column last_message; empty when Succeeded and there is
	// nothing to add to that.
	Summary string
	// Error is the error that decided; zero when Succeeded. For Canceled and TimedOut it is the server's
	// last error, if any.
	Error ErrorDetail
	// Err is the same as a Go error, for errors.Is and errors.As; nil when Succeeded.
	Err error
	// Messages are in the order in which they were said, cut to the runner's limits.
	Messages []Message
	// MessagesDropped is how many messages did not fit.
	MessagesDropped int
	// RowsAffected is the sum of all row counts, of statements that change data and of SELECTs.
	RowsAffected int64
	// RowsWritten is how many rows went to the output table.
	RowsWritten int64
	// Elapsed is the time from the start of the connection to the end of the attempt.
	Elapsed time.Duration
	// SPID is the server's session id (@@SPID), for those who look at the server meanwhile; 0: unknown.
	SPID int
	// Sent says whether any batch of the script was handed to the network.
	Sent bool
}
