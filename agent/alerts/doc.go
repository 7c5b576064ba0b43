// Package alerts evaluates alert rules and delivers alerts. Any agent or front of a control
// database does it; procedures decide which one, and what.
package alerts
