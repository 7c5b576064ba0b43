package sysfunc

import "github.com/jobagent/jobagent/testenv/tsqld/session"

// Functions has the functions whose values come from a session and its catalog.
type Functions struct {
	Connection
	State
	Security
}

// New returns the functions of a session, called in an activation.
func New(s *session.Session, at Caller) Functions {
	return Functions{Connection: Connection{s}, State: State{s}, Security: Security{Objects{s: s, at: at}}}
}
