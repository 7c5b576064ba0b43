package executions

import (
	"regexp"

	"github.com/jobagent/jobagent/jobs"
)

// MaxSuccessSentence is the maximum number of characters of what [Remark] leaves out.
const MaxSuccessSentence = 512

// successSentence matches what a message of success says of every target: that the step succeeded,
// and where.
var successSentence = regexp.MustCompile(`(?s)^Step \d+ succeeded execution on (?:target \(server '.*?', database '.*?'\)|endpoint '.*?')\.(?: |$)`)

// Remark returns the message of a target without what its state says anyway. A success has a remark
// if nothing was written, or a transaction was left open, for example.
func Remark(state jobs.Lifecycle, message string) string {
	if state != jobs.Succeeded {
		return message
	}
	return message[len(successSentence.FindString(message)):]
}
