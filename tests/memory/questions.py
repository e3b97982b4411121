"""Facts of a made-up project and questions about them, each with the one right answer."""

from __future__ import annotations

Cases = list[tuple[str, str]]

FACTS = [
    "We deploy on Fridays after the smoke tests",
    "Alice owns the billing service and its on-call rota",
    "The staging cluster runs in Frankfurt",
    "Reviews need two approvals before a merge",
    "Customer data is never copied to laptops",
    "The quarterly report is due in the first week",
]

NONSENSE = [
    "xyzzy plugh quux",
    "asdf qwer zxcv",
    "purple elephants dance sideways",
    "what is the boiling point of mercury",
    "who painted the ceiling of the chapel",
    "量子香蕉飞行",
    "バナナの惑星",
    "바나나 행성",
    "!!! ???",
    "🦄",
    "7f3a9c1e",
]

_ZH_POOL = "数据库连接池的大小是 20"
_ZH_DEPLOY = "每周五下午部署生产环境"
_ZH_CACHE = "缓存使用 Redis，过期时间为十分钟"
_ZH_LOG = "日志保存在 /var/log/app 目录，保留三十天"
_ZH_TEST = "测试框架选择 pytest，不使用 unittest"
_ZH_AUTH = "用户认证采用JWT令牌，有效期两小时"
_ZH_TEAM = "张伟负责支付模块"
_ZH_MEMORY = "选择SQLite作为记忆存储，不需要守护进程"
_JA_DEPLOY = "デプロイは毎週金曜日に行います"
_JA_DB = "データベースはPostgreSQLを使っています"
_JA_REVIEW = "コードレビューは二人の承認が必要です"
_JA_FOOD = "昼ご飯の食べ物は社員食堂で注文する"
_JA_NAME = "変数名は英語で書く"
_KO_DEPLOY = "배포는 매주 금요일에 진행합니다"
_KO_SERVER = "서버는 서울 리전에 있습니다"
_KO_CACHE = "캐시 만료 시간은 10분입니다"
_KO_TEST = "테스트는 pytest로 작성한다"
_KO_VALUE = "기본 값은 설정 파일에서 읽는다"

# Pairs of facts; the words that count are mostly the same.
APART: Cases = [
    ("the staging host listens on port 9090 now", "the staging host listens on port 8080 now"),
    ("backups are kept for seven days and nights", "backups are kept for eight days and nights"),
    (
        "rollbacks need approval from Alice or the lead",
        "rollbacks need approval from Bob or the lead",
    ),
    ("Alice owns the billing service and its rota", "Bob owns the billing service and its rota"),
    ("the web team reviews what Ann gives to Tom", "the web team reviews what Tom gives to Ann"),
    ("set cache_ttl in the settings of the proxy", "set cache_size in the settings of the proxy"),
    (
        "the parser lives in src/parse.py beside tests",
        "the parser lives in src/lex.py beside tests",
    ),
    ("call getUser before the cache is warmed up", "call getOrder before the cache is warmed up"),
    ("pinned to v1.2.3 until the bug is gone", "pinned to v1.2.4 until the bug is gone"),
    (
        "requests to the API are limited by the proxy",
        "requests to the CDN are limited by the proxy",
    ),
    (
        "the releases are made on Fridays after lunch",
        "the releases are made on Mondays after lunch",
    ),
    ("variant a of the experiment is switched on", "variant b of the experiment is switched on"),
    (
        "the parts are shipped to ny every single week",
        "the parts are shipped to la every single week",
    ),
    (
        "we use loop-dock for the drivers of the plant",
        "we use loop-ship for the drivers of the plant",
    ),
    (
        "run `build` before the release is tagged again",
        "run `check` before the release is tagged again",
    ),
    ("日志保存在目录中三十天以上", "日志保存在目录中五十天以上"),
    (
        "we deploy on fridays after the review of the code",
        "we deploy on mondays after the review of the code",
    ),
    ("the server for the reports is called apollo", "the server for the reports is called zeus"),
    (
        "the timeout of the client is ten seconds by default",
        "the timeout of the client is ten minutes by default",
    ),
    (
        "the search is enabled in the production cluster",
        "the search is disabled in the production cluster",
    ),
    ("the flag for search is true in the cluster", "the flag for search is false in the cluster"),
    (
        "use the left button to accept the merge at last",
        "use the right button to accept the merge at last",
    ),
    (
        "run the migration before the deploy of the service",
        "run the migration after the deploy of the service",
    ),
    (
        "releases on Fridays are allowed after lunch",
        "releases on Fridays are not allowed after lunch",
    ),
    ("the cache can be cleared on every release", "the cache can't be cleared on every release"),
    ("the cache can be cleared on every release", "the cache can’t be cleared on every release"),
    ("缓存应该在每次发布时清除", "缓存不应该在每次发布时清除"),
    ("会议在北京的办公室里举行大家都来参加", "会议在上海的办公室里举行大家都来参加"),
    ("서버는 월요일에 재시작합니다", "서버는 화요일에 재시작합니다"),
    ("the variable of the login form is userId", "the variable of the login form is userID"),
    (
        "the config is read from /etc/app/config first",
        "the config is read from /etc/app/Config first",
    ),
    ("carol reports to dave in the platform team", "dave reports to carol in the platform team"),
    ("health checks use http inside the cluster", "health checks use https inside the cluster"),
    ("the alert needs a ratio > limit of the day", "the alert needs a ratio < limit of the day"),
    ("verbose output is shown by the flag -v", "verbose output is shown by the flag -V"),
    ("rows match where left == right in the join", "rows match where left != right in the join"),
    ("success is shown as ✅ in the log file", "success is shown as ❌ in the log file"),
    (
        "the parser of the tool is written in C++ today",
        "the parser of the tool is written in C today",
    ),
    (
        "the guide is at https://docs.example.com/deploy",
        "the guide is at https://docs.example.com/update",
    ),
]
SAME: Cases = [
    (
        "deploys happen after the smoke tests are green",
        "deploys happen after all the smoke tests are green",
    ),
    (
        "Use tabs for the indentation of all files",
        "Always use tabs for the indentation of all files",
    ),
    (
        "the user prefers short answers without lists",
        "The user prefers short answers, without lists.",
    ),
    (
        "the releases of the online shop were made after an early lunch",
        "The releases of the online shops were made after early lunch.",
    ),
    ("用户喜欢简洁的回答并且要求代码注释使用中文", "用户喜欢简洁的回答并且要求代码注释使用中文。"),
    (
        "tokens are checked in src/auth/jwt.ts first",
        "tokens are checked in src/auth/jwt.ts first of all",
    ),
]

CJK: Cases = [
    ("连接池", _ZH_POOL),
    ("数据库的连接池有多大", _ZH_POOL),
    ("据库", _ZH_POOL),
    ("池", _ZH_POOL),
    ("我们什么时候部署", _ZH_DEPLOY),
    ("生产环境", _ZH_DEPLOY),
    ("缓存多久过期", _ZH_CACHE),
    ("Redis缓存", _ZH_CACHE),
    ("日志保存在哪里", _ZH_LOG),
    ("日志", _ZH_LOG),
    ("测试框架是什么", _ZH_TEST),
    ("JWT令牌的有效期", _ZH_AUTH),
    ("认证", _ZH_AUTH),
    ("谁负责支付模块", _ZH_TEAM),
    ("SQLite记忆", _ZH_MEMORY),
    ("守护进程", _ZH_MEMORY),
    ("デプロイはいつですか", _JA_DEPLOY),
    ("金曜日", _JA_DEPLOY),
    ("ﾃﾞﾌﾟﾛｲ", _JA_DEPLOY),
    ("データベースは何を使っていますか", _JA_DB),
    ("レビューの承認", _JA_REVIEW),
    ("食べ物", _JA_FOOD),
    ("変数", _JA_NAME),
    ("英語", _JA_NAME),
    ("배포는 언제 하나요", _KO_DEPLOY),
    ("금요일", _KO_DEPLOY),
    ("서버가 어디에 있나요", _KO_SERVER),
    ("캐시 만료", _KO_CACHE),
    ("캐시는 몇 분", _KO_CACHE),
    ("pytest 테스트", _KO_TEST),
    ("값", _KO_VALUE),
]

_JWT = "Tokens are checked in src/auth/jwt.ts before every call"
_MAIN = "The entry point is C:\\Users\\me\\proj\\main.py on the build machine"
_USER = "getUserById caches its answer for a minute"
_STORE = "session_store holds the open conversations"
_HTTP = "HTTPServer must be stopped before the pool"
_VERSION = "Pinned to node v18.19.1 because of the fetch bug"
_MODEL = "Use gpt-4o-mini for the summaries"
_HASH = "Artifacts are named by their sha256 digest"
_SCOPE = "@deepseek-ai/dsh-base brings the default rows"
_VARIABLE = "DSHLOOP_DATA names the folder that holds everything"
_URL = "The dashboard is at https://grafana.example.com/d/loops"
_CPP = "The parser is written in C++ with no exceptions"
_FLAG = "Pass --allow-build to run the install scripts"
_ERROR = "ERR_PNPM_UNEXPECTED_STORE means another pnpm major"
_PORT = "agentmemory listens on 127.0.0.1:3111"
_DOTTED = "memory.store in config.yml selects the backend"
_GIT = "The regression came with commit 9fceb02"
_KEBAB = "loop-dock registers the drivers"

IDENTIFIERS: Cases = [
    ("src/auth/jwt.ts", _JWT),
    ("jwt.ts", _JWT),
    ("where is auth/jwt", _JWT),
    ("main.py", _MAIN),
    ("proj/main.py", _MAIN),
    ("getUserById", _USER),
    ("get_user_by_id", _USER),
    ("sessionStore", _STORE),
    ("session store", _STORE),
    ("http server", _HTTP),
    ("httpserver", _HTTP),
    ("18.19.1", _VERSION),
    ("node v18.19.1", _VERSION),
    ("gpt4o mini", _MODEL),
    ("gpt-4o-mini", _MODEL),
    ("SHA256", _HASH),
    ("dsh-base", _SCOPE),
    ("deepseek-ai", _SCOPE),
    ("DSHLOOP_DATA", _VARIABLE),
    ("dshloop data folder", _VARIABLE),
    ("grafana.example.com", _URL),
    ("grafana", _URL),
    ("C++", _CPP),
    ("--allow-build", _FLAG),
    ("allow build", _FLAG),
    ("ERR_PNPM_UNEXPECTED_STORE", _ERROR),
    ("unexpected store", _ERROR),
    ("port 3111", _PORT),
    ("127.0.0.1", _PORT),
    ("memory.store", _DOTTED),
    ("config.yml", _DOTTED),
    ("9fceb02", _GIT),
    ("loop-dock", _KEBAB),
    ("loopDock", _KEBAB),
]
