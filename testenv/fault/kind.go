package fault

import "fmt"

// Kind says how a request fails.
type Kind uint8

// The kinds.
const (
	// None: the request is carried out.
	None Kind = iota
	// BeforeSending: the connection breaks before a byte of the request has left; the server does nothing.
	BeforeSending
	// AfterSending: the server carries the request out and answers; then the connection breaks, and nothing of the answer arrives.
	AfterSending
	// Transient: the server does nothing and answers with an error that goes away: 40613, database not available.
	Transient
	// Cut: the server carries the request out; half of the answer arrives, then the connection breaks.
	Cut
	// Stall: the server carries the request out; nothing of the answer ever arrives, and the connection does not break.
	Stall
)

// Kinds are all kinds of failure.
var Kinds = []Kind{BeforeSending, AfterSending, Transient, Cut, Stall}

// String names the kind.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case BeforeSending:
		return "before sending"
	case AfterSending:
		return "after sending"
	case Transient:
		return "transient error"
	case Cut:
		return "cut answer"
	case Stall:
		return "stall"
	default:
		return fmt.Sprintf("kind %d", uint8(k))
	}
}

// Call is one request: a login, a batch, a procedure call or a transaction manager request. Attentions are none.
type Call struct {
	// N counts the network's requests, from 1.
	N int
	// Name is "login", the procedure's name, the batch's beginning, or "transaction" for the transaction manager.
	Name string
}
