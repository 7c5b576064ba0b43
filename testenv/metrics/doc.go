// Package metrics proves each metric by a scenario: something happens to a real agent or front, and
// the metric shows it. It has no code but tests. A metric without a scenario fails the tests.
package metrics
