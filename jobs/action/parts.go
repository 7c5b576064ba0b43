package action

import "time"

// Parts returns the parts of an action for people: pairs of a noun and a text. Defaults are left
// out. Secrets are templates, which stay as they are.
func (d *Definition) Parts() [][2]string {
	var parts [][2]string
	add := func(name, text string) {
		if text != "" {
			parts = append(parts, [2]string{name, text})
		}
	}
	d.content().parts(add)
	if c := d.Callback; c != nil {
		text := "a report ends the action"
		if c.StatusAccepted {
			text += " after the answer 202"
		}
		if c.Timeout > 0 {
			text += ", within " + c.Timeout.String()
		}
		add("callback", text)
	}
	return parts
}

// notZero returns a duration as text, empty for 0.
func notZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "after " + d.String()
}
