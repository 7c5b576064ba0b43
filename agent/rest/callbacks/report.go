package callbacks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/jobs/wording"
)

const (
	// maxBody bounds a report's body, as SAP Job Scheduling does (S-29).
	maxBody = 102_400
	// maxMessage bounds a report's message, in characters. A longer one is cut (S-29).
	maxMessage = 16_384
)

// parseReport reads the body of a report. success is true, false, "true", "false", 1 or 0 (S-10).
// message may be absent; a value that is not a string is kept as JSON text (S-41). Other members
// are ignored.
func parseReport(body []byte) (success bool, message string, err error) {
	var members struct {
		Success json.RawMessage `json:"success"`
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return false, "", errors.New("invalid body: want a JSON object with the members success and message")
	}
	switch string(members.Success) {
	case `true`, `"true"`, `1`:
		success = true
	case `false`, `"false"`, `0`:
	case ``:
		return false, "", errors.New("success is missing: want true or false")
	default:
		return false, "", errors.New(`invalid success: want true, false, "true", "false", 1 or 0`)
	}
	message, err = parseMessage(members.Message)
	return success, message, err
}

// parseMessage returns the text of a report's message.
func parseMessage(value json.RawMessage) (string, error) {
	if len(value) == 0 || string(value) == "null" {
		return "", nil
	}
	var message string
	if value[0] == '"' {
		if err := json.Unmarshal(value, &message); err != nil {
			return "", fmt.Errorf("invalid message: %w", err)
		}
		return wording.Clip(message, maxMessage, wording.Characters), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return "", fmt.Errorf("invalid message: %w", err)
	}
	return wording.Clip(compact.String(), maxMessage, wording.Characters), nil
}
