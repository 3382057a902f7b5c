// Package care holds the rules of the clinic that need neither database nor network:
// phone numbers and tax ids, amounts of money, what connected products may see.
package care
