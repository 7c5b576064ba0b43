// Package outbound is the door through which actions leave the agent. [Network] dials addresses
// that the agent's configuration allows, and no others. [Fence] keeps an attempt from sending a
// byte before the control database knows of it. [Auth] authenticates requests with the named
// credentials of the configuration. [Mask] removes secrets from everything that leaves the agent's
// memory.
//
// Common mistakes:
//
//   - To check the name of a host and to dial it afterwards. A name may resolve to another address
//     the second time; Network checks the address that it dials.
//   - To derive from an error whether a request was sent. Only [Fence.Sent] knows.
//   - To return a text without [Mask.String]. An endpoint may repeat a secret in its answer.
package outbound
