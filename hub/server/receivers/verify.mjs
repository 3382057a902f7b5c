// Verifies deliveries with official libraries. stdin: [{secret, headers, body}]. stdout: for
// each of them, what each library says: "ok" or its error. RECEIVERS_MODULES is the directory
// of the packages.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const require = createRequire(join(process.env.RECEIVERS_MODULES, 'x'))
const libraries = ['standardwebhooks', 'svix'].map((name) => [name, require(name).Webhook])

function check(Webhook, { secret, headers, body }) {
	try {
		new Webhook(secret).verify(body, headers)
		return 'ok'
	} catch (error) {
		return `${error.name}: ${error.message}`
	}
}

const deliveries = JSON.parse(await text(process.stdin))
console.log(JSON.stringify(deliveries.map((delivery) =>
	Object.fromEntries(libraries.map(([name, Webhook]) => [name, check(Webhook, delivery)])))))
