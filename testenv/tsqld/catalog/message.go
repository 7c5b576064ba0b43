package catalog

// Message is a row of sys.messages that sp_addmessage has added, in us_english.
type Message struct {
	ID       int64
	Severity int64
	Logged   bool // @with_log
	Text     string
}
