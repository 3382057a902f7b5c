import type { Language } from "../../i18n";

type Texts = { "pt-BR": string; es: string };

// What the hub says of an installation, in the other languages. $1 is what the first parentheses
// match. A test compares the list with the hub's sentences.
const findings: [RegExp, Texts][] = [
	[/^PostgreSQL does not respond: (.+)$/, { "pt-BR": "o PostgreSQL não responde: $1", es: "PostgreSQL no responde: $1" }],
	[/^check that it runs and that HUB_DATABASE_URL is right$/, { "pt-BR": "confira se ele está em execução e se HUB_DATABASE_URL está certo", es: "compruebe que se ejecuta y que HUB_DATABASE_URL es correcto" }],
	[/^asking PostgreSQL failed: (.+)$/, { "pt-BR": "a consulta ao PostgreSQL falhou: $1", es: "la consulta a PostgreSQL falló: $1" }],
	[/^PostgreSQL (.+) is too old$/, { "pt-BR": "o PostgreSQL $1 é antigo demais", es: "PostgreSQL $1 es demasiado antiguo" }],
	[/^use version (\d+) or newer$/, { "pt-BR": "use a versão $1 ou mais nova", es: "use la versión $1 o posterior" }],
	[/^synchronous_commit is off: a crash of the server loses accepted events$/, { "pt-BR": "synchronous_commit está desligado: uma queda do servidor perde eventos aceitos", es: "synchronous_commit está desactivado: una caída del servidor pierde eventos aceptados" }],
	[/^set synchronous_commit = on$/, { "pt-BR": "defina synchronous_commit = on", es: "defina synchronous_commit = on" }],
	[/^PostgreSQL (.+) responds in (.+)$/, { "pt-BR": "o PostgreSQL $1 responde em $2", es: "PostgreSQL $1 responde en $2" }],
	[/^this machine's clock and the database's differ by (.+)$/, { "pt-BR": "o relógio desta máquina e o do banco de dados diferem em $1", es: "el reloj de esta máquina y el de la base de datos difieren en $1" }],
	[/^run a time service \(NTP\) on both; leases use the database's clock, so nothing is lost, but webhooks have this machine's time: receivers refuse those that are 5 minutes off$/, { "pt-BR": "use um serviço de hora (NTP) nas duas; as concessões usam o relógio do banco de dados, então nada se perde, mas os webhooks levam a hora desta máquina: os receptores recusam os que diferem em 5 minutos", es: "use un servicio de hora (NTP) en ambas; las concesiones usan el reloj de la base de datos, así que nada se pierde, pero los webhooks llevan la hora de esta máquina: los receptores rechazan los que difieren en 5 minutos" }],
	[/^differs from the database's by (.+)$/, { "pt-BR": "difere do relógio do banco de dados em $1", es: "difiere del reloj de la base de datos en $1" }],
	[/^(\d+) processes with up to (\d+) connections each: (\d+); PostgreSQL accepts (\d+), others have (\d+)$/, { "pt-BR": "$1 processos com até $2 conexões cada: $3; o PostgreSQL aceita $4, outros programas têm $5", es: "$1 procesos con hasta $2 conexiones cada uno: $3; PostgreSQL acepta $4, otros programas tienen $5" }],
	[/^up to (\d+) of the (\d+) that PostgreSQL accepts, others have (\d+)$/, { "pt-BR": "até $1 das $2 que o PostgreSQL aceita; outros programas têm $3", es: "hasta $1 de las $2 que acepta PostgreSQL; otros programas tienen $3" }],
	[/^set max_connections of PostgreSQL to (\d+) or more, or run fewer processes$/, { "pt-BR": "defina max_connections do PostgreSQL em $1 ou mais, ou execute menos processos", es: "ponga max_connections de PostgreSQL en $1 o más, o ejecute menos procesos" }],
	[/^reading PostgreSQL's connections failed: (.+)$/, { "pt-BR": "a leitura das conexões do PostgreSQL falhou: $1", es: "la lectura de las conexiones de PostgreSQL falló: $1" }],
	[/^the schema is at version (\d+)$/, { "pt-BR": "o esquema está na versão $1", es: "el esquema está en la versión $1" }],
	[/^the schema of (\S+) is at version (\d+)$/, { "pt-BR": "o esquema de $1 está na versão $2", es: "el esquema de $1 está en la versión $2" }],
	[/^the schema(?: of (\S+))? is at version (\d+), this hub needs (\d+)$/, { "pt-BR": "esquema $1: versão $2; este hub precisa da $3", es: "esquema $1: versión $2; este hub necesita la $3" }],
	[/^the schema(?: of (\S+))? is at version (\d+), newer than this hub's (\d+)$/, { "pt-BR": "esquema $1: versão $2, mais nova que a $3 deste hub", es: "esquema $1: versión $2, posterior a la $3 de este hub" }],
	[/^run: (hub migrate)$/, { "pt-BR": "execute: $1", es: "ejecute: $1" }],
	[/^run a newer hub$/, { "pt-BR": "execute um hub mais novo", es: "ejecute un hub más nuevo" }],
	[/^the tables of today or the next two days are missing$/, { "pt-BR": "faltam as tabelas de hoje ou dos próximos dois dias", es: "faltan las tablas de hoy o de los dos próximos días" }],
	[/^a running hub makes them; look for "maintenance failed" in its log$/, { "pt-BR": "um hub em execução as cria; procure “maintenance failed” no registro dele", es: "un hub en ejecución las crea; busque «maintenance failed» en su registro" }],
	[/^made for today and the days ahead$/, { "pt-BR": "criadas para hoje e os próximos dias", es: "creadas para hoy y los próximos días" }],
	[/^(\d+) deliveries are overdue, the oldest by (.+)$/, { "pt-BR": "$1 entregas estão atrasadas, a mais antiga em $2", es: "$1 entregas están atrasadas, la más antigua $2" }],
	[/^a slow or dead endpoint has a backlog \((.+)\), or no hub is delivering$/, { "pt-BR": "um endpoint lento ou parado tem uma fila ($1), ou nenhum hub está entregando", es: "un endpoint lento o parado tiene una cola ($1), o ningún hub está entregando" }],
	[/^(\d+) deliveries overdue$/, { "pt-BR": "entregas atrasadas: $1", es: "entregas atrasadas: $1" }],
	[/^in the hub's own process$/, { "pt-BR": "no próprio processo do hub", es: "en el propio proceso del hub" }],
	[/^HUB_REDIS_URL is not a valid redis:\/\/ URL$/, { "pt-BR": "HUB_REDIS_URL não é uma URL redis:// válida", es: "HUB_REDIS_URL no es una URL redis:// válida" }],
	[/^Redis does not respond: (.+)$/, { "pt-BR": "o Redis não responde: $1", es: "Redis no responde: $1" }],
	[/^nothing is lost: limits are counted per process and retries come up to 3 s late until it is back$/, { "pt-BR": "nada se perde: até ele voltar, os limites são contados por processo e as novas tentativas atrasam até 3 s", es: "nada se pierde: hasta que vuelva, los límites se cuentan por proceso y los reintentos se retrasan hasta 3 s" }],
	[/^responds in (.+)$/, { "pt-BR": "responde em $1", es: "responde en $1" }],
	[/^cloud metadata addresses are not refused$/, { "pt-BR": "endereços de metadados da nuvem não são recusados", es: "no se rechazan las direcciones de metadatos de la nube" }],
	[/^deliveries to other machines fail until it is back; check HUB_EGRESS_PROXY$/, { "pt-BR": "entregas a outras máquinas falham até ele voltar; confira HUB_EGRESS_PROXY", es: "las entregas a otras máquinas fallan hasta que vuelva; compruebe HUB_EGRESS_PROXY" }],
	[/^private networks are refused; names cannot be resolved here$/, { "pt-BR": "redes privadas são recusadas; aqui não é possível resolver nomes", es: "se rechazan las redes privadas; aquí no se pueden resolver nombres" }],
	[/^private networks are refused; names cannot be resolved here, the egress proxy (\S+) takes connections$/, { "pt-BR": "redes privadas são recusadas; aqui não é possível resolver nomes; o proxy de saída $1 aceita conexões", es: "se rechazan las redes privadas; aquí no se pueden resolver nombres; el proxy de salida $1 acepta conexiones" }],
	[/^webhooks to other machines by name will fail; check the resolver$/, { "pt-BR": "webhooks para outras máquinas por nome vão falhar; confira o resolvedor de nomes", es: "los webhooks a otras máquinas por nombre fallarán; compruebe el resolutor de nombres" }],
	[/^private networks are refused, names resolve$/, { "pt-BR": "redes privadas são recusadas, nomes são resolvidos", es: "se rechazan las redes privadas, los nombres se resuelven" }],
	[/^private networks are refused, names resolve, the egress proxy (\S+) takes connections$/, { "pt-BR": "redes privadas são recusadas, nomes são resolvidos; o proxy de saída $1 aceita conexões", es: "se rechazan las redes privadas, los nombres se resuelven; el proxy de salida $1 acepta conexiones" }],
	[/^has not run in this process yet$/, { "pt-BR": "ainda não ocorreu neste processo", es: "aún no se ha ejecutado en este proceso" }],
	[/^look again in some seconds$/, { "pt-BR": "veja de novo em alguns segundos", es: "vuelva a mirar en unos segundos" }],
	[/^last succeeded (.+) ago$/, { "pt-BR": "teve êxito pela última vez há $1", es: "tuvo éxito por última vez hace $1" }],
	[/^look for "sweeping due deliveries failed" in the hub's log$/, { "pt-BR": "procure “sweeping due deliveries failed” no registro do hub", es: "busque «sweeping due deliveries failed» en el registro del hub" }],
	[/^reading the free space of (.+) failed: (.+)$/, { "pt-BR": "a leitura do espaço livre em $1 falhou: $2", es: "la lectura del espacio libre en $1 falló: $2" }],
	[/^(.+) of (.+) free on the disk of (.+)$/, { "pt-BR": "disco com $3: $1 de $2 livres", es: "disco con $3: $1 de $2 libres" }],
	[/^free space now: on a full disk nothing can be accepted, and publishing responds with 503$/, { "pt-BR": "libere espaço agora: com o disco cheio nada pode ser aceito, e a publicação responde com 503", es: "libere espacio ahora: con el disco lleno no se puede aceptar nada, y la publicación responde con 503" }],
	[/^free space, or keep less of the log \(HUB_RETENTION\)$/, { "pt-BR": "libere espaço, ou guarde menos do registro (HUB_RETENTION)", es: "libere espacio, o conserve menos del registro (HUB_RETENTION)" }],
	[/^last ran (.+) ago$/, { "pt-BR": "ocorreu pela última vez há $1", es: "se ejecutó por última vez hace $1" }],
];

// Directories that findings name.
const directories: [name: string, Texts][] = [
	["the data directory", { "pt-BR": "o diretório de dados", es: "el directorio de datos" }],
	["the directory for uploads", { "pt-BR": "o diretório de envios", es: "el directorio de subidas" }],
];

/** translateFinding returns what the hub says in another language; texts of other programs stay. */
export function translateFinding(language: Language, text: string): string {
	if (language === "en") return text;
	const found = findings.find(([pattern]) => pattern.test(text));
	if (!found) return text;
	return directories.reduce((translated, [name, texts]) => translated.replace(name, texts[language]), text.replace(found[0], found[1][language]));
}
