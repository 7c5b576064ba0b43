// Package alerts evaluates alert rules and delivers alerts. Every agent and every front of a
// control database runs it; procedures decide which of them makes an evaluation or a delivery.
package alerts
