// Package parameters reads the parameters of a run: a JSON object that the run's creator gave, and
// to whose values scripts and actions refer as $(param.NAME) and $(payload.PATH).
package parameters
